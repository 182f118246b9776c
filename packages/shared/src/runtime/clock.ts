/**
 * The process's clock, in milliseconds since 1970. The one place that reads it: rows are stamped and
 * leases are judged by MySQL's clock, so that processes need not agree on the time.
 */
export type Clock = () => number

export const systemClock: Clock = () => Date.now()

/** Milliseconds that have passed since `start` (a value of `performance.now()`), rounded. */
export const elapsedMs = (start: number): number => Math.round(performance.now() - start)
