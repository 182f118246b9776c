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

const AT_ONCE = [0, 0] as const
const SHORT = [1000, 4000] as const
/** Above the 30 s of a lease, and of the queue's lock. */
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
async function swallow(proxy: TcpProxy | undefined, side: 'requests' | 'answers', ms: number) {
  if (proxy === undefined) throw new Error('it has no such server')
  if (side === 'requests') proxy.swallowRequests()
  else proxy.swallowAnswers()
  await sleep(ms)
  proxy.cut()
  proxy.mend()
}

const SERVERS = { mysql: 'MySQL', redis: 'Redis', sume: 'Sume' }
type Server = keyof typeof SERVERS
/** What it sends to this server arrives nowhere. */
const cutOff = (app: Member['app'], from: Server): Fault => ({
  name: `${app} cut off from ${SERVERS[from]}`,
  on: app,
  ms: SHORT,
  make: (member, ms) => swallow(member[from], 'requests', ms),
})
/** The server does what it is asked, and the asker does not learn it. */
const answersLost = (app: Member['app'], from: Server): Fault => ({
  name: `${SERVERS[from]}'s answers to a ${app} lost`,
  on: app,
  ms: SHORT,
  make: (member, ms) => swallow(member[from], 'answers', ms),
})

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
  cutOff('receiver', 'mysql'),
  cutOff('receiver', 'redis'),
  answersLost('receiver', 'mysql'),
  { name: 'worker killed', on: 'worker', ms: SHORT, make: killed },
  { name: 'worker frozen', on: 'worker', ms: SHORT, make: frozen },
  { name: 'worker frozen past its leases', on: 'worker', ms: PAST_LEASE, make: frozen },
  cutOff('worker', 'mysql'),
  cutOff('worker', 'redis'),
  answersLost('worker', 'mysql'),
  answersLost('worker', 'redis'),
  { name: 'Redis killed', on: 'redis', ms: SHORT, make: serverKilled },
  { name: 'Redis stopped', on: 'redis', ms: SHORT, make: serverStopped },
  { name: 'Redis frozen', on: 'redis', ms: SHORT, make: serverFrozen },
  {
    name: 'Redis emptied',
    on: 'redis',
    ms: AT_ONCE,
    make: (_server, _ms, { system }) => system.redis.flushall(),
  },
  { name: 'MySQL killed', on: 'mysql', ms: SHORT, make: serverKilled },
  { name: 'MySQL stopped', on: 'mysql', ms: SHORT, make: serverStopped },
  { name: 'MySQL frozen', on: 'mysql', ms: SHORT, make: serverFrozen },
]

/** What can befall the calls to Sume. */
const SUME_FAULTS: readonly Fault[] = [
  cutOff('worker', 'sume'),
  answersLost('worker', 'sume'),
  {
    name: 'Sume does the work and cuts the connection',
    on: 'sume',
    ms: AT_ONCE,
    make: (sandbox) => sandbox.fault({ method: 'POST', times: 5, do: 'cut' }),
  },
  {
    name: 'Sume answers 503',
    on: 'sume',
    ms: AT_ONCE,
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
