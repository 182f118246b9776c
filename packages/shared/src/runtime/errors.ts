/** An `unknown` from a `catch`, as an Error. */
export function toError(thrown: unknown): Error {
  if (thrown instanceof Error) return thrown
  return new Error(typeof thrown === 'string' ? thrown : `thrown: ${JSON.stringify(thrown)}`)
}

/** What an error says, with the causes behind it; never its stack. */
export function errorText(thrown: unknown): string {
  const error = toError(thrown)
  const own = error.message || error.name
  return error.cause === undefined ? own : `${own}: ${errorText(error.cause)}`
}
