import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const chaos = (...args: string[]) =>
  spawnSync(process.execPath, [join(import.meta.dirname, 'main.ts'), ...args], {
    encoding: 'utf8',
    timeout: 60_000,
  })

test.each([
  [['--events', '0'], "'0' is invalid. It must be a whole number from 1 on."],
  [['--every-seconds', 'often'], "'often' is invalid. It must be a number from 1 to 3600."],
  [['--source', 'luck'], "'luck' is invalid. Allowed choices are webhooks, intents."],
  [['--faults', '3'], "unknown option '--faults'"],
])('%j is refused before any server is started', (args, said) => {
  const { status, stderr, stdout } = chaos(...args)
  expect(stderr).toContain(said)
  expect(stdout).toBe('')
  expect(status).toBe(1)
})
