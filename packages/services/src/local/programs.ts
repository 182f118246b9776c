import { execFileSync } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { canInstall, installPrograms } from './apt.ts'

/** The server programs of this machine. */
export interface Programs {
  readonly mysqld: string
  readonly family: 'mariadb' | 'mysql'
  /** Makes a data directory: a script of MariaDB's, or MySQL's server itself. */
  readonly initialise: string
  readonly version: string
  readonly redis: { readonly command: string; readonly argv0: string }
}

/** They bring the programs and no system service; `mariadb-install-db` needs a tool of the client's. */
const PACKAGES = ['mariadb-server-core', 'mariadb-client-core', 'redis-tools']

/**
 * Finds MySQL's and Redis's server programs, and installs them where this is root on Debian or Ubuntu.
 * The packages bring the programs and no system service.
 *
 * @throws when they are not there and cannot be installed.
 */
export async function havePrograms(root: string, log: (line: string) => void): Promise<Programs> {
  const found = find()
  if (found !== null) return found
  if (!canInstall()) {
    throw new Error(
      'mariadbd (or mysqld) and redis-server are not installed, and only root on Debian or Ubuntu can install them here',
    )
  }
  await installPrograms(PACKAGES, root, log)
  const installed = find()
  if (installed === null)
    throw new Error('apt-get installed the packages, but their programs were not found')
  return installed
}

function find(): Programs | null {
  const mysqld = which('mariadbd') ?? which('mysqld')
  const redis = which('redis-server') ?? which('redis-check-rdb')
  if (mysqld === null || redis === null) return null
  const says = execFileSync(mysqld, ['--no-defaults', '--version'], { encoding: 'utf8' })
  const family = says.includes('MariaDB') ? 'mariadb' : 'mysql'
  const initialise = family === 'mariadb' ? which('mariadb-install-db') : mysqld
  // The script calls it, and another package has it.
  if (initialise === null || (family === 'mariadb' && which('my_print_defaults') === null)) {
    return null
  }
  return {
    mysqld,
    family,
    initialise,
    version: /\d+\.\d+\.\d+/.exec(says)?.[0] ?? 'unknown',
    // One program under several names: by this one it is the server.
    redis: { command: redis, argv0: 'redis-server' },
  }
}

/** The program's path. System administrators' folders are looked at too: a user's PATH often lacks them. */
export function which(name: string): string | null {
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
