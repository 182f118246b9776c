import { expect, test } from 'vitest'
import { faultsFor } from './faults.ts'
import { planFault } from './plan.ts'

const kinds = faultsFor('intents')
const plan = (seed: string, count: number) =>
  Array.from({ length: count }, (_, n) => planFault(seed, n, kinds))

test('the same seed gives the same plan, another seed another one', () => {
  expect(plan('a', 100)).toEqual(plan('a', 100))
  expect(plan('a', 100)).not.toEqual(plan('b', 100))
})

test('every round has each kind once, in an order of its own, and takes as long as the kind allows', () => {
  const made = plan('a', 3 * kinds.length)
  const rounds = [0, 1, 2].map((round) =>
    made.slice(round * kinds.length, (round + 1) * kinds.length).map(({ name }) => name),
  )
  const names = kinds.map(({ name }) => name).toSorted()
  for (const round of rounds) expect(round.toSorted()).toEqual(names)
  expect(rounds[1]).not.toEqual(rounds[0])
  for (const { name, ms, which } of made) {
    const [shortest, longest] = kinds.find((kind) => kind.name === name)?.ms ?? [0, 0]
    expect(ms).toBeGreaterThanOrEqual(shortest)
    expect(ms).toBeLessThanOrEqual(longest)
    expect(which).toBeGreaterThanOrEqual(0)
    expect(which).toBeLessThan(1)
  }
})
