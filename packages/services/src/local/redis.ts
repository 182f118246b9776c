import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { redisAnswers } from '../answers.ts'
import { freePort } from '../free-port.ts'
import type { ManagedServer } from '../managed-server.ts'
import { REDIS_SETTINGS } from '../server-settings.ts'
import { startServer } from './server-process.ts'
import type { Programs } from './programs.ts'

const ANSWER_MS = 1000

interface StartOptions {
  readonly programs: Programs
  readonly folder: string
  readonly password: string
  readonly started: (pid: number, startedAt: string | null) => void
}

/** Starts a private Redis on a free loopback port. */
export async function startRedis(
  options: StartOptions,
): Promise<{ server: ManagedServer; url: string }> {
  const { programs, folder, password } = options
  const data = join(folder, 'redis')
  mkdirSync(data)
  const port = await freePort()
  const url = `redis://:${password}@127.0.0.1:${port}`
  const config = join(folder, 'redis.conf')
  const lines = [
    'bind 127.0.0.1',
    `port ${port}`,
    `requirepass ${password}`,
    ...REDIS_SETTINGS.map(([name, value]) => `${name} ${value || '""'}`),
  ]
  writeFileSync(config, `${lines.join('\n')}\n`, { mode: 0o600 })
  const server = await startServer({
    name: 'redis-server',
    command: programs.redis.command,
    argv0: programs.redis.argv0,
    args: [config],
    cwd: data,
    logFile: join(folder, 'redis.log'),
    answers: () => redisAnswers(url, ANSWER_MS),
    started: options.started,
  })
  return { server, url }
}
