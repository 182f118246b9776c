import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Waits until `look` gives something other than `undefined`, `null` or `false`, and returns it: for
 * what happens in another process, where no event can be waited for.
 *
 * @param what names in the error what did not happen.
 */
export async function waitFor<T>(
  what: string,
  look: () => Promise<T | undefined | null | false> | T | undefined | null | false,
  timeoutMs = 60_000,
): Promise<T> {
  const end = performance.now() + timeoutMs
  let last: unknown
  for (;;) {
    try {
      const seen = await look()
      if (seen !== undefined && seen !== null && seen !== false) return seen
      last = seen
    } catch (error) {
      last = error
    }
    if (performance.now() > end)
      throw new Error(`waited ${timeoutMs} ms for: ${what}`, { cause: last })
    await sleep(20)
  }
}
