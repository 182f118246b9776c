/** Thrown when something took longer than it was given. */
export class DeadlineError extends Error {
  readonly code = 'DEADLINE'

  constructor(what: string, ms: number) {
    super(`${what} took longer than ${ms} ms`)
    this.name = 'DeadlineError'
  }
}

/**
 * Waits for `promise`, but no longer than `ms`. The promise itself is not cancelled: `onLate` is the
 * place to release what it holds.
 *
 * @throws DeadlineError when the time is over; whatever `promise` rejects with, otherwise.
 */
export async function withDeadline<T>(
  promise: Promise<T>,
  ms: number,
  what: string,
  onLate?: () => void,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(new DeadlineError(what, ms))
      onLate?.()
    }, ms)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
    // A rejection that arrives after the deadline was already reported as the deadline.
    promise.catch(() => undefined)
  }
}
