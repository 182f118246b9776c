import { randomUUID } from 'node:crypto'
import { openServices } from '@sume-inbox/services'
import { type EventSummary, migrate, openLedger } from '@sume-inbox/shared/ledger'
import { errorText } from '@sume-inbox/shared/runtime'
import { Listr } from 'listr2'
import { playScene } from './play-scene.ts'
import { addresses, eventTable, shortLine } from './print.ts'
import { scenes } from './scenes.ts'
import { startSystem, type System } from './system.ts'
import { untilStopped } from './until-stopped.ts'

const USAGE = `usage: pnpm dev [--once]

Starts MySQL, Redis, a sandbox Sume, the receiver, two workers and the console on this machine, submits a
handful of jobs and follows their events to done. Stays up until Ctrl-C.

  --once   stop after that; exit code 0 only if every event came to its expected end
`

const args = process.argv.slice(2).filter((arg) => arg !== '--')
const unknown = args.find((arg) => !['--once', '--help', '-h'].includes(arg))
if (unknown !== undefined || args.includes('--help') || args.includes('-h')) {
  process.stderr.write(unknown === undefined ? USAGE : `dev knows no ${unknown}\n\n${USAGE}`)
  process.exit(unknown === undefined ? 0 : 1)
}
/** Redrawn in place on a terminal, one line a step elsewhere. */
const renderers = {
  rendererOptions: { collapseSubtasks: false },
  fallbackRenderer: 'simple',
} as const

process.exit(await run(args.includes('--once')))

/** @returns the exit code. */
async function run(once: boolean): Promise<number> {
  const stopped = untilStopped()
  const say = (line: string) => process.stdout.write(`${line}\n`)
  await using stack = new AsyncDisposableStack()
  try {
    const services = await openServices({ log: say })
    stack.defer(() => services.close())
    let follow = false
    const system = await start(services, (app, line) => {
      const short = follow ? shortLine(app, line) : undefined
      if (short !== undefined) say(short)
    })
    let failures: string[] = []
    stack.defer(async () => {
      failures = await system.stop()
    })
    const events = await Promise.race([play(services.databaseUrl, system), stopped])
    if (events === 'stopped') return 0
    say(`\n${eventTable(events)}\n`)
    if (once) {
      failures = await system.stop()
      if (failures.length > 0) say(`not every process stopped cleanly: ${failures.join(', ')}`)
      return failures.length === 0 ? 0 : 1
    }
    say(addresses(services, system, events[0]?.event.sume_id ?? ''))
    follow = true
    await stopped
    say('\nstopping')
    return 0
  } catch (error) {
    process.stderr.write(`\ndev: ${errorText(error)}\n`)
    return 1
  }
}

async function start(
  services: Awaited<ReturnType<typeof openServices>>,
  onLine: (app: string, line: Record<string, unknown>) => void,
): Promise<System> {
  const tasks = new Listr<{ system?: System }>(
    [
      {
        title: 'bring the ledger up to date',
        task: async (_, task) => {
          const applied = await migrate(services.databaseUrl)
          task.title = `ledger up to date (${applied.length} migrations applied)`
        },
      },
      {
        title: 'start sandbox, receiver, two workers and console',
        task: async (ctx, task) => {
          ctx.system = await startSystem(services, onLine, (step) => {
            task.output = step
          })
        },
      },
    ],
    renderers,
  )
  const { system } = await tasks.run()
  if (system === undefined) throw new Error('the system did not start')
  return system
}

async function play(databaseUrl: string, system: System) {
  const ledger = openLedger({ url: databaseUrl, poolSize: 4, timeoutMs: 4000 })
  const stage = {
    sandboxUrl: system.sandbox.url,
    webhookUrl: `${system.receiver.url}/webhooks/sume`,
    ledger,
    playing: randomUUID(),
  }
  const ended = new Map<string, EventSummary>()
  try {
    await new Listr(
      scenes.map((scene) => ({
        title: scene.title,
        task: async (_: unknown, task: { output: string; title: string }) => {
          const event = await playScene(scene, stage, (step) => {
            if (task.output !== step) task.output = step
          })
          ended.set(scene.title, event)
          task.title = `${scene.title}: ${event.state}`
        },
      })),
      { ...renderers, concurrent: true, exitOnError: true },
    ).run()
  } finally {
    await ledger.close()
  }
  return scenes.flatMap(({ title }) => {
    const event = ended.get(title)
    return event === undefined ? [] : [{ title, event }]
  })
}
