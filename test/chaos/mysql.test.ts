import { waitFor } from '@sume-inbox/testing'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { atRest, violations } from './invariants.ts'
import { openOwnServers, type OwnServers } from './own-servers.ts'
import { load, makeSender, type Sender } from './sender.ts'
import { openSystem, type System } from './system.ts'

/** Servers of this file's own: what is done to them, is done to the servers themselves. */
let own: OwnServers
beforeAll(async () => {
  own = await openOwnServers()
})
afterAll(() => own.close())

let system: System
let sender: Sender
beforeEach(async () => {
  system = await openSystem(own, { SWEEP_EVERY_MS: '1000' })
  const receivers = [await system.start('receiver'), await system.start('receiver')]
  sender = makeSender(() => receivers.map((receiver) => receiver.url()))
  await system.start('worker')
  await system.start('worker')
})
afterEach(() => system[Symbol.asyncDispose]())

/**
 * Deliveries and follow-ups at a steady pace while something happens to MySQL, and for a while after it.
 *
 * @returns what is wrong with the ledger afterwards.
 */
async function underLoad(fault: () => Promise<unknown>): Promise<string[]> {
  let over = false
  const loaded = load(sender, {
    callers: 20,
    perSecond: 50,
    more: () => !over,
    fields: () => ({ do: 'take a while', ms: 100 }),
  })
  await waitFor('the load to be under way', () => sender.accepted.size > 50)
  await fault()
  const before = sender.accepted.size
  await waitFor('deliveries to be accepted again', () => sender.accepted.size > before + 20)
  over = true
  await loaded
  await atRest(system, 120_000)
  return violations(system, sender.accepted)
}

test('killed under load: nothing that got a 2xx is lost', async () => {
  const wrong = await underLoad(async () => {
    await own.mysql.kill()
    await waitFor('deliveries to be refused', () => (sender.tries.get('503') ?? 0) > 5)
    await own.mysql.start()
  })
  expect(wrong).toEqual([])
})

test('frozen for 10 s under load: refused in time, accepted afterwards', async () => {
  const wrong = await underLoad(async () => {
    await own.mysql.freeze()
    await sleep(10_000)
    await own.mysql.thaw()
  })
  // Every try had an answer before Sume would have given it up.
  expect([...sender.tries.keys()].toSorted()).toEqual(['200', '503'])
  expect(wrong).toEqual([])
})
