import { elapsedMs } from './clock.ts'
import { toError } from './errors.ts'

/** What one run of a service did, as counts. */
export type Report = Readonly<Record<string, number>>

/** Work that comes round again and again. `runOnce` is all of it; only `every` owns a timer. */
export interface Service {
  readonly name: string
  readonly everyMs: number
  runOnce(signal: AbortSignal): Promise<Report>
}

/** What `every` tells about a service's runs. */
export interface ServiceObserver {
  ran(run: { service: string; report: Report; durationMs: number }): void
  failed(run: { service: string; error: Error; durationMs: number }): void
}

/** A started service. */
export interface RunningService {
  /** No run begins after this; the one under way is told by its signal, and waited for. */
  stop(): Promise<void>
}

/**
 * Runs a service again and again: the first time after a random part of its interval (so that many
 * processes started together do not tick together), never twice at once, and on after a run that threw.
 */
export function every(
  service: Service,
  observer: ServiceObserver,
  random: () => number = Math.random,
): RunningService {
  const stopping = new AbortController()
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> = Promise.resolve()

  const schedule = (ms: number) => {
    if (stopping.signal.aborted) return
    timer = setTimeout(() => {
      running = run()
    }, ms)
  }
  const run = async () => {
    const start = performance.now()
    try {
      const report = await service.runOnce(stopping.signal)
      observer.ran({ service: service.name, report, durationMs: elapsedMs(start) })
    } catch (thrown) {
      const error = toError(thrown)
      observer.failed({ service: service.name, error, durationMs: elapsedMs(start) })
    }
    schedule(service.everyMs)
  }

  schedule(Math.floor(random() * service.everyMs))
  return {
    async stop() {
      stopping.abort(new Error('stopping'))
      clearTimeout(timer)
      await running
    },
  }
}
