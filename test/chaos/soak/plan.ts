import { createHash } from 'node:crypto'

/** A fault as it is planned, before anything is known of how the run goes. */
export interface PlannedFault<Name extends string> {
  /** The how-manieth, from 0. */
  readonly n: number
  readonly name: Name
  /** Which of its kind: 0 to below 1, for any number of them. */
  readonly which: number
  readonly ms: number
}

export interface Plannable<Name extends string> {
  readonly name: Name
  /** The shortest and the longest it may take. */
  readonly ms: readonly [number, number]
}

/**
 * The n-th fault of a seed's plan: the same each time. In every round each kind comes once, in an order
 * of that round's own.
 */
export function planFault<Name extends string>(
  seed: string,
  n: number,
  kinds: readonly Plannable<Name>[],
): PlannedFault<Name> {
  const round = Math.floor(n / kinds.length)
  const inOrder = kinds.toSorted(
    (one, other) =>
      draw(seed, `round ${round}: ${one.name}`) - draw(seed, `round ${round}: ${other.name}`),
  )
  const kind = inOrder[n % kinds.length]
  if (kind === undefined) throw new Error('a plan needs kinds of faults')
  const [shortest, longest] = kind.ms
  return {
    n,
    name: kind.name,
    which: draw(seed, `${n}: which`),
    ms: Math.round(shortest + draw(seed, `${n}: ms`) * (longest - shortest)),
  }
}

/** A number from 0 to below 1 that only the seed and the question decide. */
const draw = (seed: string, question: string): number =>
  createHash('sha256').update(`${seed}: ${question}`).digest().readUInt32BE(0) / 2 ** 32
