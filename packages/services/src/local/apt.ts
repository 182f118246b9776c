import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { logTail } from './log-tail.ts'

const APT_GET = '/usr/bin/apt-get'
const LOCK_WAIT_S = 120

/** Whether this is root on Debian, Ubuntu or one of their kin. */
export const canInstall = (): boolean =>
  process.getuid?.() === 0 && existsSync('/etc/debian_version') && existsSync(APT_GET)

/** Says what it installs, then installs it. @throws with the end of apt's log. */
export async function installPrograms(
  packages: readonly string[],
  root: string,
  log: (line: string) => void,
): Promise<void> {
  log(
    `services: installing ${packages.join(', ')} by apt-get now (programs only, no system service)`,
  )
  const folder = join(root, '.local')
  mkdirSync(folder, { recursive: true })
  const logFile = join(folder, 'apt.log')
  // A list that cannot be fetched (another repository's, say) need not matter: the next step tells.
  await apt(['update'], logFile)
  if (await apt(['install', '-y', '--no-install-recommends', ...packages], logFile)) return
  throw new Error(`apt-get install ${packages.join(' ')} failed: ${logTail(logFile)}`)
}

/** @returns whether it succeeded. */
async function apt(args: readonly string[], logFile: string): Promise<boolean> {
  const patience = performance.now() + LOCK_WAIT_S * 1000
  for (;;) {
    const log = openSync(logFile, 'w')
    const child = spawn(APT_GET, ['-o', `DPkg::Lock::Timeout=${LOCK_WAIT_S}`, ...args], {
      stdio: ['ignore', log, log],
      // In English, for the look at its words below.
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C.UTF-8' },
    })
    closeSync(log)
    const [code] = (await once(child, 'exit')) as [number | null]
    if (code === 0) return true
    // It waits for dpkg's lock by itself, but not for that of its lists.
    const locked = readFileSync(logFile, 'utf8').includes('Could not get lock')
    if (!locked || performance.now() > patience) return false
    await sleep(1000)
  }
}
