import { setTimeout as sleep } from 'node:timers/promises'

/** Lets so many things a second begin, evenly spread, however many wait. */
export interface Rate {
  /** Waits for its turn. @returns `false` when the signal aborted first. */
  take(signal: AbortSignal): Promise<boolean>
  /** Nothing begins for so long from now on, in milliseconds. */
  pause(ms: number): void
  /** What is left of a pause, in milliseconds. */
  pausedMs(): number
}

export function makeRate(perSecond: number): Rate {
  const gapMs = 1000 / perSecond
  let free = 0
  let pausedUntil = 0
  return {
    async take(signal) {
      for (;;) {
        if (signal.aborted) return false
        const now = performance.now()
        if (free <= now) {
          free = now + gapMs
          return true
        }
        await sleep(free - now, undefined, { signal }).catch(() => undefined)
      }
    },
    pause(ms) {
      pausedUntil = Math.max(pausedUntil, performance.now() + ms)
      free = Math.max(free, pausedUntil)
    },
    pausedMs: () => Math.max(pausedUntil - performance.now(), 0),
  }
}
