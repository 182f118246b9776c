import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Services } from '../open-services.ts'
import { guard } from '../instance/guardian.ts'
import { endInstance, endLeftInstances, makeInstance } from '../instance/instance.ts'
import { startMysql } from './mysql.ts'
import { havePrograms } from './programs.ts'
import { startRedis } from './redis.ts'

/**
 * Starts a private MySQL and Redis from this machine's programs, under the project's own `.local`. They
 * end with this process, however it ends.
 */
export async function openLocal(root: string, log: (line: string) => void): Promise<Services> {
  const programs = await havePrograms(root, log)
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
    const [mysqlStart, redisStart] = await Promise.allSettled([
      startMysql({
        programs,
        folder: instance.folder,
        parent,
        password,
        started: (pid, startedAt) => instance.note('mysql', { pid, startedAt }),
      }),
      startRedis({
        programs,
        folder: instance.folder,
        password,
        started: (pid, startedAt) => instance.note('redis', { pid, startedAt }),
      }),
    ])
    // Both have come to an end here: closing while one still starts would leave it behind.
    if (mysqlStart.status === 'rejected') throw mysqlStart.reason
    if (redisStart.status === 'rejected') throw redisStart.reason
    const [mysql, redis] = [mysqlStart.value, redisStart.value]
    const family = programs.family === 'mariadb' ? 'MariaDB' : 'MySQL'
    log(`services: private ${family} ${programs.version} and Redis from this machine's programs`)
    return {
      lane: 'local',
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
