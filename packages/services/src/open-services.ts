import { join } from 'node:path'
import { mysqlAnswers, redisAnswers } from './answers.ts'
import { chooseLanes, type Lane } from './lanes.ts'
import type { ManagedServer } from './managed-server.ts'
import { openLocal } from './local/open-local.ts'

/** A MySQL and a Redis to work on. */
export interface Services {
  readonly lane: Lane
  /** An account that may create databases (where the lane is ours), and an existing database. */
  readonly databaseUrl: string
  readonly redisUrl: string
  /** The servers themselves, to be stopped or frozen; not on the lane `url`, whose servers are not ours. */
  readonly mysql?: ManagedServer
  readonly redis?: ManagedServer
  /** Ends what was started. */
  close(): Promise<void>
}

export interface OpenServicesOptions {
  /** Where SERVICES, DATABASE_URL and REDIS_URL are looked up. */
  readonly env?: NodeJS.ProcessEnv
  /** The project's folder; data lives under its `.local`. */
  readonly root?: string
  /** Told which lane is taken and why, and of everything that takes long. */
  readonly log?: (line: string) => void
  /** Servers that nobody else uses, for a test that stops them; the lane `url` is passed over. */
  readonly private?: boolean
}

const ANSWER_MS = 5000
const ROOT = join(import.meta.dirname, '../../..')

/**
 * Opens MySQL and Redis on the first lane that can be had: the servers that the environment names,
 * containers, or server programs of this machine, which are installed where that is possible.
 *
 * @throws with one message that says why each lane could not be taken, and what would help.
 */
export async function openServices(options: OpenServicesOptions = {}): Promise<Services> {
  const { env = process.env, root = ROOT, log = () => undefined } = options
  const { lanes, forced } = chooseLanes(env, options.private === true)
  const reasons: string[] = []
  for (const lane of lanes) {
    const why = forced ? [`SERVICES=${lane}`] : [unnamed(env, options.private === true), ...reasons]
    try {
      return await open(lane, env, root, why.join('; '), log)
    } catch (error) {
      // Servers that somebody named and that do not answer are a mistake to tell, not to work around.
      if (lane === 'url') throw error
      const reason = `${lane}: ${error instanceof Error ? error.message : String(error)}`
      if (forced) throw new Error(`SERVICES=${lane} cannot be had: ${reason}`, { cause: error })
      reasons.push(reason)
    }
  }
  throw new Error(
    `no MySQL and Redis could be had:\n${reasons.map((reason) => `  - ${reason}`).join('\n')}\n` +
      'Three ways: set DATABASE_URL and REDIS_URL; start a Docker engine; or install mariadb-server and redis-server.',
  )
}

async function open(
  lane: Lane,
  env: NodeJS.ProcessEnv,
  root: string,
  why: string,
  log: (line: string) => void,
): Promise<Services> {
  switch (lane) {
    case 'url': {
      const { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl } = env
      if (!databaseUrl || !redisUrl)
        throw new Error('SERVICES=url needs DATABASE_URL and REDIS_URL')
      await mysqlAnswers(databaseUrl, ANSWER_MS).catch(refuse('DATABASE_URL'))
      await redisAnswers(redisUrl, ANSWER_MS).catch(refuse('REDIS_URL'))
      log('services: lane url: the servers that DATABASE_URL and REDIS_URL name')
      return { lane, databaseUrl, redisUrl, close: () => Promise.resolve() }
    }
    case 'containers': {
      // Only here: the library is slow to load.
      const { openContainers } = await import('./containers/open-containers.ts')
      const services = await openContainers(env, root, log)
      log(`services: lane containers, because ${why}`)
      return services
    }
    case 'local':
      log(`services: lane local, because ${why}`)
      return openLocal(root, log)
  }
}

/** Why the lane `url` was passed over. */
function unnamed(env: NodeJS.ProcessEnv, own: boolean): string {
  if (own) return 'private servers were asked for'
  const unset = ['DATABASE_URL', 'REDIS_URL'].filter((name) => !env[name])
  return `${unset.join(' and ')} not set`
}

const refuse = (name: string) => (error: unknown) => {
  const { message, code } = error as NodeJS.ErrnoException
  throw new Error(`${name} cannot be used: ${message || code}`, { cause: error })
}
