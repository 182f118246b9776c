import {
  type AppProcess,
  openTcpProxy,
  startApp,
  type TcpProxy,
  waitFor,
} from '@sume-inbox/testing'

/** A receiver or worker that can be killed, frozen and cut off, and started again at the same address. */
export interface Member {
  readonly app: 'receiver' | 'worker'
  /** Its own ways to the servers. */
  readonly mysql: TcpProxy
  readonly redis: TcpProxy
  /** Where it has a Sume to call. */
  readonly sume: TcpProxy | undefined
  url(): string
  internalUrl(): string
  pid(): number
  /** SIGKILL, and waits until it has ended. */
  kill(): Promise<void>
  /** Waits until it has ended by itself. @returns its exit code, or the signal's name. */
  ended(timeoutMs: number): Promise<number | NodeJS.Signals>
  /** Starts it again. */
  start(): Promise<void>
  freeze(): void
  thaw(): void
  [Symbol.asyncDispose](): Promise<void>
}

/** Starts one on the servers that `env` names, with a proxy before each. */
export async function startMember(
  app: Member['app'],
  env: Record<string, string>,
): Promise<Member> {
  const mysql = await openTcpProxy(env['DATABASE_URL'] ?? '')
  const redis = await openTcpProxy(env['REDIS_URL'] ?? '')
  const sume =
    env['SUME_API_URL'] === undefined ? undefined : await openTcpProxy(env['SUME_API_URL'])
  let settings = {
    ...env,
    DATABASE_URL: mysql.url,
    REDIS_URL: redis.url,
    ...(sume === undefined ? {} : { SUME_API_URL: sume.url }),
  }
  let process: AppProcess = await startApp(app, settings)
  // A receiver's address is what Sume knows of it.
  settings = { ...settings, ...(app === 'receiver' ? { PORT: new URL(process.url).port } : {}) }
  return {
    app,
    mysql,
    redis,
    sume,
    url: () => process.url,
    internalUrl: () => process.internalUrl,
    pid: () => process.pid,
    async kill() {
      await process.stop('SIGKILL')
    },
    ended: (timeoutMs) =>
      waitFor(
        `${app} ${process.pid} to end`,
        () => process.child.exitCode ?? process.child.signalCode,
        timeoutMs,
      ),
    async start() {
      process = await startApp(app, settings)
    },
    freeze: () => void process.child.kill('SIGSTOP'),
    thaw: () => void process.child.kill('SIGCONT'),
    async [Symbol.asyncDispose]() {
      await process[Symbol.asyncDispose]()
      await Promise.all([mysql.close(), redis.close(), sume?.close()])
    },
  }
}
