import type { RedisInfo } from '@sume-inbox/shared/queues'
import { type Finding, fail, ok, warn } from './finding.ts'

const LEAST = [6, 2] as const

/** Whether the queue can live on this Redis. */
export function judgeRedis(info: RedisInfo): Finding[] {
  return [judgeVersion(info), judgePolicy(info['maxmemory_policy']), judgeAof(info['aof_enabled'])]
}

function judgeVersion(info: RedisInfo): Finding {
  const version = info['redis_version'] ?? ''
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const isEnough = major > LEAST[0] || (major === LEAST[0] && minor >= LEAST[1])
  if (isEnough) return ok(`Redis ${version} is supported`)
  return fail(`Redis ${version} is too old`, `use Redis ${LEAST.join('.')} or newer`)
}

function judgePolicy(policy: string | undefined): Finding {
  if (policy === 'noeviction') return ok('Redis evicts nothing')
  return fail(
    `Redis may throw jobs away (maxmemory-policy is ${policy ?? 'unknown'})`,
    'set maxmemory-policy to noeviction',
  )
}

function judgeAof(enabled: string | undefined): Finding {
  if (enabled === '1') return ok('Redis writes an append-only file')
  return warn(
    'Redis keeps no append-only file: after its crash every open event waits for the sweeper',
    'set appendonly to yes',
  )
}
