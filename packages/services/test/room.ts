import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openServices, type OpenServicesOptions, type Services } from '@sume-inbox/services'
import { afterAll, afterEach } from 'vitest'

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
    /** By default on the lane `local`, whatever the environment of the test run says. */
    async open(options: Pick<OpenServicesOptions, 'env' | 'private'> = {}): Promise<Services> {
      const env = { PATH: process.env['PATH'], SERVICES: 'local' }
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
