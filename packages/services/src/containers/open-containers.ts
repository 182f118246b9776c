import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { mysqlAnswers, redisAnswers } from '../answers.ts'
import { guard } from '../instance/guardian.ts'
import { endInstance, endLeftInstances, makeInstance } from '../instance/instance.ts'
import type { Services } from '../open-services.ts'
import { DATABASE, MYSQL_OPTIONS, REDIS_SETTINGS } from '../server-settings.ts'
import { type ServerContainer, startContainer } from './container-server.ts'
import { findEngine, haveImage } from './engine.ts'

const MYSQL_IMAGE = 'mysql:9.7'
const REDIS_IMAGE = 'redis:8'
const ANSWER_MS = 1000

/**
 * Starts MySQL and Redis as containers. They end with this process, however it ends: by `close()`, by a
 * guardian process, or at the next start; and by the reaper of testcontainers, where that is not disabled.
 */
export async function openContainers(
  env: NodeJS.ProcessEnv,
  root: string,
  log: (line: string) => void,
): Promise<Services> {
  const engine = await findEngine()
  const mysqlImage = env['MYSQL_IMAGE'] || MYSQL_IMAGE
  const redisImage = env['REDIS_IMAGE'] || REDIS_IMAGE
  for (const image of [mysqlImage, redisImage]) await haveImage(engine, image, log)

  const parent = join(root, '.local/services')
  mkdirSync(parent, { recursive: true })
  await endLeftInstances(parent, log)
  const instance = makeInstance(parent)
  const release = guard(instance.folder)
  const close = async () => {
    await endInstance(instance.folder)
    await release()
  }
  try {
    const password = randomBytes(18).toString('hex')
    const created = (id: string) => instance.noteContainer(id)
    const [mysqlStart, redisStart] = await Promise.allSettled([
      startContainer(engine, mysqlContainer(mysqlImage, password, created)),
      startContainer(engine, redisContainer(redisImage, password, created)),
    ])
    // Both have come to an end here: closing while one still starts would leave it behind.
    if (mysqlStart.status === 'rejected') throw mysqlStart.reason
    if (redisStart.status === 'rejected') throw redisStart.reason
    const [mysql, redis] = [mysqlStart.value, redisStart.value]
    log(`services: containers of ${mysqlImage} and ${redisImage}`)
    return {
      lane: 'containers',
      databaseUrl: mysql.url,
      redisUrl: redis.url,
      mysql: mysql.server,
      redis: redis.server,
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

const mysqlContainer = (
  image: string,
  password: string,
  created: (id: string) => void,
): ServerContainer => ({
  name: 'the container of MySQL',
  image,
  port: 3306,
  environment: { MYSQL_ROOT_PASSWORD: password, MYSQL_DATABASE: DATABASE },
  command: ['mysqld', ...MYSQL_OPTIONS],
  url: (host, port) => `mysql://root:${password}@${host}:${port}/${DATABASE}`,
  answers: (url) => mysqlAnswers(url, ANSWER_MS),
  created,
})

const redisContainer = (
  image: string,
  password: string,
  created: (id: string) => void,
): ServerContainer => ({
  name: 'the container of Redis',
  image,
  port: 6379,
  environment: {},
  command: [
    'redis-server',
    ...[['requirepass', password], ...REDIS_SETTINGS].flatMap(([name, value]) => [
      `--${name}`,
      value ?? '',
    ]),
  ],
  url: (host, port) => `redis://:${password}@${host}:${port}`,
  answers: (url) => redisAnswers(url, ANSWER_MS),
  created,
})
