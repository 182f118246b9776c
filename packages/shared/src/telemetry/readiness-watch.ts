import type { Service } from '../runtime/index.ts'
import type { Events } from './events.ts'
import type { Readiness } from './probes.ts'

const EVERY_MS = 2000

/**
 * Tells at the start and at every change whether the process can work, and what it waits for. Without it
 * a process whose servers are away would be silent until somebody probes it.
 */
export function watchReadiness(check: () => Promise<Readiness>, events: Events): Service {
  let said: string | undefined
  return {
    name: 'readiness',
    everyMs: EVERY_MS,
    async runOnce() {
      const readiness = await check()
      const now = JSON.stringify(readiness)
      if (now === said) return { changed: 0 }
      said = now
      events.emit('readiness:changed', readiness)
      return { changed: 1 }
    },
  }
}
