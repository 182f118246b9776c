import { randomBytes } from 'node:crypto'
import { createWriteStream, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pid } from 'node:process'
import type { Services } from '@sume-inbox/services'
import { type AppProcess, startApp } from '@sume-inbox/testing'

const ROOT = join(import.meta.dirname, '../../..')
const FOLDER = join(ROOT, '.local/dev')
/** Read by `pnpm sume`, so that its commands meet the running system without any setting. */
const ENV_FILE = join(ROOT, '.local/dev.env')

/** The processes of one running system. */
export interface System {
  readonly sandbox: AppProcess
  readonly receiver: AppProcess
  readonly workers: readonly AppProcess[]
  readonly console: AppProcess
  /** Where each process's log goes. */
  readonly logs: string
  /** Stops every process in order. @returns the names of those that did not end with exit code 0. */
  stop(): Promise<string[]>
}

/** Told of every log line of every process. */
export type OnLine = (app: string, line: Record<string, unknown>) => void

/** Starts sandbox, receiver, two workers and the console on free loopback ports, one after the other. */
export async function startSystem(
  services: Services,
  onLine: OnLine,
  tell: (step: string) => void,
): Promise<System> {
  mkdirSync(FOLDER, { recursive: true })
  const env = {
    DATABASE_URL: services.databaseUrl,
    REDIS_URL: services.redisUrl,
    SUME_WEBHOOK_SECRETS: `whsec_dev_${randomBytes(16).toString('hex')}`,
    FOLLOW_UPS: join(import.meta.dirname, 'follow-ups.ts'),
    LOG_LEVEL: 'info',
    // Short, so that the demo's retries are seen and not waited for.
    BACKOFF_MS: '600',
    SANDBOX_RETRY_BASE_MS: '200',
    // The same for the webhook that never comes.
    RECONCILE_AFTER_MS: '3000',
    SUME_API_KEY: 'sandbox-key',
    INTENTS_TOKEN: randomBytes(16).toString('hex'),
  }
  const started: [string, AppProcess][] = []
  const start = async (name: string, app: string, settings: Record<string, string> = env) => {
    const log = createWriteStream(join(FOLDER, `${name}.log`))
    const process = await startApp(app, settings, (text, line) => {
      log.write(`${text}\n`)
      if (line !== undefined) onLine(name, line)
    })
    started.unshift([name, process])
    tell(`${name}: pid ${process.pid}`)
    return process
  }
  const stop = async () => {
    rmSync(ENV_FILE, { force: true })
    const codes = await Promise.all(
      started.map(async ([name, process]) => [name, await process.stop()] as const),
    )
    return codes.filter(([, code]) => code !== 0).map(([name, code]) => `${name} (${code})`)
  }
  try {
    const sandbox = await start('sandbox', 'sandbox')
    const receiver = await start('receiver', 'receiver')
    const settings = {
      ...env,
      SUME_API_URL: sandbox.url,
      SUME_WEBHOOK_URL: `${receiver.url}/webhooks/sume`,
    }
    const workers = [
      await start('worker-1', 'worker', settings),
      await start('worker-2', 'worker', settings),
    ]
    // On loopback it needs no password.
    const console = await start('console', 'console', settings)
    writeFileSync(
      ENV_FILE,
      Object.entries({ ...settings, DEV_PID: String(pid) })
        .map(([k, v]) => `${k}='${v}'\n`)
        .join(''),
      { mode: 0o600 },
    )
    return { sandbox, receiver, workers, console, logs: FOLDER, stop }
  } catch (error) {
    await stop()
    throw error
  }
}
