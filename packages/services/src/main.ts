import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { openServices } from './open-services.ts'

const [command, ...args] = process.argv.slice(2)
const say = (line: string) => process.stderr.write(`${line}\n`)

process.exit(await main())

/** Runs the command with DATABASE_URL and REDIS_URL set; without one, keeps the servers up. @returns the exit code. */
async function main(): Promise<number> {
  try {
    await using stack = new AsyncDisposableStack()
    const services = await openServices({ log: say })
    stack.defer(() => services.close())
    const { databaseUrl, redisUrl, lane } = services
    if (command !== undefined) {
      const env = { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl, SERVICES_LANE: lane }
      return await run(command, args, { ...process.env, ...env })
    }
    say(`DATABASE_URL=${databaseUrl}\nREDIS_URL=${redisUrl}\nCtrl-C ends them.`)
    await stopped()
    return 0
  } catch (error) {
    say(error instanceof Error ? error.message : String(error))
    return 1
  }
}

async function run(name: string, argv: string[], env: NodeJS.ProcessEnv): Promise<number> {
  const child = spawn(name, argv, { stdio: 'inherit', env })
  // A Ctrl-C reaches the command by itself; we wait for its end, and only then stop the servers.
  process.on('SIGINT', () => undefined)
  for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal))
  return new Promise((resolve, reject) => {
    child.once('error', (error) => reject(new Error(`${name} cannot be run: ${error.message}`)))
    child.once('exit', (code, signal) =>
      resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal])),
    )
  })
}

/** Resolves at a signal, or when whoever started us is gone. */
async function stopped(): Promise<void> {
  const parent = process.ppid
  await new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
      process.once(signal, () => resolve())
    setInterval(() => {
      if (process.ppid !== parent) resolve()
    }, 500)
  })
}
