import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { delimiter, join } from 'node:path'
import { openServices } from './open-services.ts'

const PARENT_LOOK_MS = 500
const BIN = join(import.meta.dirname, '../../../node_modules/.bin')

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
      // A DATABASE_URL_FILE beside DATABASE_URL would be a contradiction.
      const { DATABASE_URL_FILE: _, REDIS_URL_FILE: __, ...env } = process.env
      return await run(command, args, {
        ...env,
        // The workspace's tools and its Node, also where no script of pnpm's started this.
        PATH: `${BIN}${delimiter}${env['PATH'] ?? ''}`,
        DATABASE_URL: databaseUrl,
        REDIS_URL: redisUrl,
        SERVICES_LANE: lane,
      })
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
  // A terminal's Ctrl-C reaches the command by itself, and a second one would mean "leave at once".
  process.on('SIGINT', () => process.stdin.isTTY || child.kill('SIGINT'))
  for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal))
  void parentGone().then(() => child.kill('SIGTERM'))
  return new Promise((resolve, reject) => {
    child.once('error', (error) => reject(new Error(`${name} cannot be run: ${error.message}`)))
    child.once('exit', (code, signal) =>
      resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal])),
    )
  })
}

/** Resolves at a signal, or when whoever started us is gone. */
function stopped(): Promise<void> {
  return new Promise((resolve) => {
    // Not `once`: a library that Docker's client brings ends the process at a signal that nobody else listens to.
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
      process.on(signal, () => resolve())
    void parentGone().then(resolve)
  })
}

/** A SIGTERM to `npx` or `pnpm` ends them without a word to us. */
function parentGone(): Promise<void> {
  const parent = process.ppid
  return new Promise((resolve) => {
    const look = setInterval(() => {
      if (process.ppid === parent) return
      clearInterval(look)
      resolve()
    }, PARENT_LOOK_MS)
  })
}
