import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { openServices } from '@sume-inbox/services'
import { describe, expect, test } from 'vitest'
import { onContainers, ownLane, roomForServices } from './room.ts'

const { PATH } = process.env
/** Of a registry that does not exist. */
const NO_IMAGE = 'registry.invalid/none:0'
const MAIN = join(import.meta.dirname, '../src/main.ts')

describe('the lane', () => {
  const room = roomForServices()

  test.runIf(onContainers)('containers is taken where an engine has the images', async () => {
    const { SERVICES: _, ...env } = ownLane()
    const services = await room.open({ env })
    expect(services.lane).toBe('containers')
    expect(room.lines.join('\n')).toMatch(/lane containers, because DATABASE_URL and REDIS_URL/)
  })

  test('url takes the servers that the environment names, and refuses those that do not answer', async () => {
    const own = await room.open()
    const env = { PATH, DATABASE_URL: own.databaseUrl, REDIS_URL: own.redisUrl }
    const lines: string[] = []
    const named = await openServices({ env, root: room.root, log: (line) => lines.push(line) })
    expect(named).toMatchObject({ lane: 'url', databaseUrl: own.databaseUrl })
    expect(named.mysql).toBeUndefined()
    expect(lines).toEqual([expect.stringContaining('lane url')])

    await own.redis?.kill()
    const refused = openServices({ env, root: room.root })
    await expect(refused).rejects.toThrow(/^REDIS_URL cannot be used: .*ECONNREFUSED/)
  })

  test('local is taken when nothing is named and no image can be had, and one line says why', async () => {
    const services = await room.open({ env: { PATH, MYSQL_IMAGE: NO_IMAGE } })
    expect(services.lane).toBe('local')
    expect(room.lines.join('\n')).toMatch(
      /lane local, because DATABASE_URL and REDIS_URL not set; containers: (no Docker engine answers|the image .* cannot be had)/,
    )
  })

  test('a private instance is never the one that the environment names', async () => {
    const env = {
      PATH,
      DATABASE_URL: 'mysql://nobody@127.0.0.1:1/x',
      REDIS_URL: 'redis://x:1',
      MYSQL_IMAGE: NO_IMAGE,
    }
    const services = await room.open({ env, private: true })
    expect(services.lane).toBe('local')
  })

  test.each([
    ['url', 'SERVICES=url needs DATABASE_URL and REDIS_URL'],
    ['containers', 'SERVICES=containers cannot be had'],
    ['docker', 'SERVICES must be one of url, containers, local'],
  ])('SERVICES=%s fails with its reason instead of going on', async (SERVICES, reason) => {
    await expect(room.open({ env: { PATH, SERVICES, MYSQL_IMAGE: NO_IMAGE } })).rejects.toThrow(
      reason,
    )
  })
})

test('a command gets the addresses, and its exit code is handed on', () => {
  const { status, stdout } = spawnSync(
    process.execPath,
    [MAIN, 'sh', '-c', 'echo "$SERVICES_LANE $DATABASE_URL $REDIS_URL"; exit 3'],
    { encoding: 'utf8', env: { PATH, SERVICES: 'local' } },
  )
  expect(stdout).toMatch(/^local mysql:\/\/\S+\/sume_inbox redis:\/\/\S+\n$/)
  expect(status).toBe(3)
})

test('a command that a signal ended gives 128 and its number', () => {
  const { status } = spawnSync(process.execPath, [MAIN, 'sh', '-c', 'kill -TERM $$'], {
    env: { PATH, SERVICES: 'local' },
  })
  expect(status).toBe(143)
})
