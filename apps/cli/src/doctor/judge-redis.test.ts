import { expect, test } from 'vitest'
import { judgeRedis } from './judge-redis.ts'

const good = { redis_version: '7.0.15', maxmemory_policy: 'noeviction', aof_enabled: '1' }
const problems = (info: Record<string, string>) =>
  judgeRedis({ ...good, ...info }).filter(({ level }) => level !== 'ok')

test.each(['6.2.0', '7.0.15', '8.2.1'])('Redis %s with AOF and noeviction is fine', (version) => {
  expect(problems({ redis_version: version })).toEqual([])
})

test.each([
  ['redis_version', '6.0.16', 'fail'],
  ['redis_version', '', 'fail'],
  ['maxmemory_policy', 'allkeys-lru', 'fail'],
  ['aof_enabled', '0', 'warn'],
])('%s = %j is a %s with a fix', (name, value, level) => {
  expect(problems({ [name]: value })).toMatchObject([{ level, fix: expect.stringMatching(/\w/) }])
})
