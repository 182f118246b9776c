/** Figures of one measured thing, in milliseconds. */
export interface Stats {
  readonly min: number
  readonly median: number
  readonly p95: number
}

export function statsOf(samples: readonly number[]): Stats {
  const sorted = samples.toSorted((a, b) => a - b)
  const at = (share: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN
  return { min: at(0), median: at(0.5), p95: at(0.95) }
}

/** How long `work` takes, in milliseconds. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

export const ms = (value: number): string => value.toFixed(2)
