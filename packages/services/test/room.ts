import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openServices, type OpenServicesOptions, type Services } from '@sume-inbox/services'
import { afterAll, afterEach } from 'vitest'

/** Whether the test run is on containers; else on this machine's programs, or on servers of others. */
export const onContainers = process.env['SERVICES_LANE'] === 'containers'

/** The settings for servers of our own, of the kind that the test run is on. */
export function ownLane(): NodeJS.ProcessEnv {
  const settings = Object.entries(process.env).filter(([name]) =>
    /^(PATH|HOME|MYSQL_IMAGE|REDIS_IMAGE|DOCKER_.*|TESTCONTAINERS_.*)$/.test(name),
  )
  return { ...Object.fromEntries(settings), SERVICES: onContainers ? 'containers' : 'local' }
}

/** A folder of a test file's own, and instances in it that end with the test. */
export function roomForServices() {
  const root = mkdtempSync(join(tmpdir(), 'services-test-'))
  const lines: string[] = []
  const opened: Services[] = []
  afterEach(async () => {
    lines.length = 0
    await Promise.all(opened.splice(0).map((services) => services.close()))
  })
  afterAll(() => rmSync(root, { recursive: true, force: true }))
  return {
    root,
    lines,
    /** By default on a lane of our own servers: the test run's, or `local`. */
    async open(options: Pick<OpenServicesOptions, 'env' | 'private'> = {}): Promise<Services> {
      const env = ownLane()
      const services = await openServices({
        env,
        root,
        log: (line) => lines.push(line),
        ...options,
      })
      opened.push(services)
      return services
    },
  }
}
