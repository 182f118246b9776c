import { setTimeout as sleep } from 'node:timers/promises'
import type { SandboxProcess, TcpProxy } from '@sume-inbox/testing'
import type { Member } from '../member.ts'
import type { OwnServers } from '../own-servers.ts'
import type { System } from '../system.ts'
import type { Plannable, PlannedFault } from './plan.ts'

/** What faults are made in. */
export interface Scene {
  readonly system: System
  readonly servers: OwnServers
  /** Where the events come from intents. */
  readonly sandbox: SandboxProcess | undefined
  /** Is told before a member is killed. */
  readonly beforeKill: (member: Member) => Promise<void>
}

/** Resolves when it is mended. */
type Make<Target> = (target: Target, ms: number, scene: Scene) => Promise<unknown>

type Fault = Plannable<string> &
  (
    | { readonly on: Member['app']; readonly make: Make<Member> }
    | { readonly on: 'mysql' | 'redis'; readonly make: Make<OwnServers['mysql']> }
    | { readonly on: 'sume'; readonly make: Make<SandboxProcess> }
  )

const SHORT = [1000, 4000] as const
/** Above the lease and below what sends a worker away for good. */
const PAST_LEASE = [35_000, 50_000] as const

const killed: Make<Member> = async (member, ms, scene) => {
  await scene.beforeKill(member)
  await member.kill()
  await sleep(ms)
  await member.start()
}
const frozen: Make<Member> = async (member, ms) => {
  member.freeze()
  await sleep(ms)
  member.thaw()
}
/** Bytes are lost meanwhile, so the connections must not go on afterwards. */
const swallowed = async (proxy: TcpProxy, side: 'requests' | 'answers', ms: number) => {
  if (side === 'requests') proxy.swallowRequests()
  else proxy.swallowAnswers()
  await sleep(ms)
  proxy.cut()
  proxy.mend()
}
const serverKilled: Make<OwnServers['mysql']> = async (server, ms) => {
  await server.kill()
  await sleep(ms)
  await server.start()
}
const serverStopped: Make<OwnServers['mysql']> = async (server, ms) => {
  await server.stop()
  await sleep(ms)
  await server.start()
}
const serverFrozen: Make<OwnServers['mysql']> = async (server, ms) => {
  await server.freeze()
  await sleep(ms)
  await server.thaw()
}

const FAULTS: readonly Fault[] = [
  { name: 'receiver killed', on: 'receiver', ms: SHORT, make: killed },
  { name: 'receiver frozen', on: 'receiver', ms: SHORT, make: frozen },
  {
    name: 'receiver cut off from MySQL',
    on: 'receiver',
    ms: SHORT,
    make: (receiver, ms) => swallowed(receiver.mysql, 'requests', ms),
  },
  {
    name: "MySQL's answers to a receiver lost",
    on: 'receiver',
    ms: SHORT,
    make: (receiver, ms) => swallowed(receiver.mysql, 'answers', ms),
  },
  {
    name: 'receiver cut off from Redis',
    on: 'receiver',
    ms: SHORT,
    make: (receiver, ms) => swallowed(receiver.redis, 'requests', ms),
  },
  { name: 'worker killed', on: 'worker', ms: SHORT, make: killed },
  { name: 'worker frozen', on: 'worker', ms: SHORT, make: frozen },
  { name: 'worker frozen past its leases', on: 'worker', ms: PAST_LEASE, make: frozen },
  {
    name: 'worker cut off from MySQL',
    on: 'worker',
    ms: SHORT,
    make: (worker, ms) => swallowed(worker.mysql, 'requests', ms),
  },
  {
    name: "MySQL's answers to a worker lost",
    on: 'worker',
    ms: SHORT,
    make: (worker, ms) => swallowed(worker.mysql, 'answers', ms),
  },
  {
    name: 'worker cut off from Redis',
    on: 'worker',
    ms: SHORT,
    make: (worker, ms) => swallowed(worker.redis, 'requests', ms),
  },
  {
    name: "Redis's answers to a worker lost",
    on: 'worker',
    ms: SHORT,
    make: (worker, ms) => swallowed(worker.redis, 'answers', ms),
  },
  { name: 'Redis killed', on: 'redis', ms: SHORT, make: serverKilled },
  { name: 'Redis stopped', on: 'redis', ms: SHORT, make: serverStopped },
  { name: 'Redis frozen', on: 'redis', ms: SHORT, make: serverFrozen },
  {
    name: 'Redis emptied',
    on: 'redis',
    ms: [0, 0],
    make: (_server, _ms, { system }) => system.redis.flushall(),
  },
  { name: 'MySQL killed', on: 'mysql', ms: SHORT, make: serverKilled },
  { name: 'MySQL stopped', on: 'mysql', ms: SHORT, make: serverStopped },
  { name: 'MySQL frozen', on: 'mysql', ms: SHORT, make: serverFrozen },
]

/** What can befall the calls to Sume. */
const SUME_FAULTS: readonly Fault[] = [
  {
    name: 'worker cut off from Sume',
    on: 'worker',
    ms: SHORT,
    make: async (worker, ms) => {
      if (worker.sume !== undefined) await swallowed(worker.sume, 'requests', ms)
    },
  },
  {
    name: "Sume's answers to a worker lost",
    on: 'worker',
    ms: SHORT,
    make: async (worker, ms) => {
      if (worker.sume !== undefined) await swallowed(worker.sume, 'answers', ms)
    },
  },
  {
    name: 'Sume does the work and cuts the connection',
    on: 'sume',
    ms: [0, 0],
    make: (sandbox) => sandbox.fault({ method: 'POST', times: 5, do: 'cut' }),
  },
  {
    name: 'Sume answers 503',
    on: 'sume',
    ms: [0, 0],
    make: (sandbox) => sandbox.fault({ times: 10, do: 'status', status: 503 }),
  },
]

/** The kinds of faults of a scene with or without calls to Sume. */
export const faultsFor = (source: 'webhooks' | 'intents'): readonly Fault[] =>
  source === 'intents' ? [...FAULTS, ...SUME_FAULTS] : FAULTS

/** Makes faults, several at a time where they are on different processes and servers. */
export interface FaultMaker {
  /** @returns what it is done to, at once, or as soon as the last fault on it is mended. */
  make(planned: PlannedFault<string>): Promise<string>
  /** Waits until all that was made is mended. @throws what could not be made or mended. */
  mended(): Promise<void>
}

export function makeFaults(scene: Scene, kinds: readonly Fault[]): FaultMaker {
  const busy = new Map<object, Promise<unknown>>()
  const failures: unknown[] = []

  /** One that has no fault at the moment, from the planned one on; else the planned one. */
  const pickMember = (app: Member['app'], which: number): Member => {
    const all = scene.system.members.filter((member) => member.app === app)
    const first = Math.floor(which * all.length)
    const inTurn = [...all.slice(first), ...all.slice(0, first)]
    const picked = inTurn.find((member) => !busy.has(member)) ?? inTurn[0]
    if (picked === undefined) throw new Error(`there is no ${app}`)
    return picked
  }

  const begin = async <Target extends object>(
    target: Target,
    make: Make<Target>,
    ms: number,
  ): Promise<void> => {
    while (busy.has(target)) await busy.get(target)
    const under = make(target, ms, scene)
      .catch((error: unknown) => failures.push(error))
      .finally(() => busy.delete(target))
    busy.set(target, under)
  }

  return {
    async make({ name, which, ms }) {
      if (failures.length > 0) throw failures[0]
      const fault = kinds.find((kind) => kind.name === name)
      if (fault === undefined) throw new Error(`there is no fault ${name}`)
      switch (fault.on) {
        case 'receiver':
        case 'worker': {
          const member = pickMember(fault.on, which)
          await begin(member, fault.make, ms)
          return `${fault.on} ${member.pid()}`
        }
        case 'mysql':
        case 'redis':
          await begin(scene.servers[fault.on], fault.make, ms)
          return fault.on
        case 'sume':
          if (scene.sandbox === undefined) throw new Error('this scene has no Sume')
          await begin(scene.sandbox, fault.make, ms)
          return 'sume'
      }
    },
    async mended() {
      while (busy.size > 0) await Promise.all(busy.values())
      if (failures.length > 0) throw failures[0]
    },
  }
}
