import { execFileSync, spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** The server programs of this machine. */
export interface Programs {
  readonly mysqld: string
  readonly family: 'mariadb' | 'mysql'
  readonly redis: { readonly command: string; readonly argv0: string }
}

const PACKAGES = ['mariadb-server-core', 'mariadb-client-core', 'redis-tools']

/**
 * Finds MySQL's and Redis's server programs, and installs them where this is root on Debian or Ubuntu.
 * The packages bring the programs and no system service.
 *
 * @throws when they are not there and cannot be installed.
 */
export function havePrograms(log: (line: string) => void): Programs {
  const found = find()
  if (found !== null) return found
  if (process.getuid?.() !== 0 || !existsSync('/etc/debian_version') || which('apt-get') === null) {
    throw new Error(
      'mariadbd (or mysqld) and redis-server are not installed, and only root on Debian or Ubuntu can install them here',
    )
  }
  log(`services: installing ${PACKAGES.join(', ')} by apt-get (programs only, no system service)`)
  apt('update')
  apt('install', '-y', '--no-install-recommends', ...PACKAGES)
  const installed = find()
  if (installed === null)
    throw new Error('apt-get installed the packages, but their programs were not found')
  return installed
}

function find(): Programs | null {
  const mariadbd = which('mariadbd')
  const mysqld = mariadbd ?? which('mysqld')
  const redis = which('redis-server') ?? which('redis-check-rdb')
  if (mysqld === null || redis === null) return null
  const family = execFileSync(mysqld, ['--no-defaults', '--version'], {
    encoding: 'utf8',
  }).includes('MariaDB')
    ? 'mariadb'
    : 'mysql'
  if (
    family === 'mariadb' &&
    (which('mariadb-install-db') === null || which('my_print_defaults') === null)
  )
    return null
  // One program under several names: by this one it is the server.
  return { mysqld, family, redis: { command: redis, argv0: 'redis-server' } }
}

function apt(...args: string[]): void {
  const { status, stdout, stderr } = spawnSync(
    'apt-get',
    ['-o', 'DPkg::Lock::Timeout=120', ...args],
    {
      encoding: 'utf8',
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
      maxBuffer: 64 * 1024 * 1024,
    },
  )
  if (status === 0) return
  const said = `${stdout}\n${stderr}`.trimEnd().split('\n').slice(-10).join('\n')
  throw new Error(`apt-get ${args[0]} failed:\n${said}`)
}

/** The program's path. System administrators' folders are looked at too: a user's PATH often lacks them. */
function which(name: string): string | null {
  const folders = [
    ...(process.env['PATH'] ?? '').split(delimiter),
    '/usr/sbin',
    '/usr/local/sbin',
    '/sbin',
  ]
  for (const folder of folders) {
    const path = join(folder, name)
    try {
      accessSync(path, constants.X_OK)
      return path
    } catch {
      // not here
    }
  }
  return null
}
