import { execFileSync } from 'node:child_process'
import {
  constants,
  cpSync,
  existsSync,
  mkdtempSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import mysql from 'mysql2/promise'
import { freePort } from './free-port.ts'
import { type ManagedServer, startServer } from './managed-server.ts'
import type { Programs } from './programs.ts'

const DATABASE = 'sume_inbox'
const USER = 'sume'
const asRoot = process.getuid?.() === 0 ? ['--user=root'] : []

export interface StartOptions {
  readonly programs: Programs
  /** The instance's folder. */
  readonly folder: string
  /** Where the template of a data directory is kept. */
  readonly parent: string
  readonly password: string
  readonly started: (pid: number, startedAt: string | null) => void
}

/** Starts a private MySQL or MariaDB on a free loopback port, with durable settings. */
export async function startMysql(
  options: StartOptions,
): Promise<{ server: ManagedServer; url: string }> {
  const { programs, folder, password } = options
  const data = join(folder, 'mysql')
  cpSync(template(programs, options.parent), data, {
    recursive: true,
    mode: constants.COPYFILE_FICLONE,
  })
  const init = join(folder, 'init.sql')
  writeFileSync(init, accounts(programs.family, password), { mode: 0o600 })
  const port = await freePort()
  const url = `mysql://${USER}:${password}@127.0.0.1:${port}/${DATABASE}`
  const server = await startServer({
    name: programs.family === 'mariadb' ? 'mariadbd' : 'mysqld',
    command: programs.mysqld,
    args: [
      '--no-defaults',
      ...asRoot,
      `--datadir=${data}`,
      `--port=${port}`,
      '--bind-address=127.0.0.1',
      // A socket's path must be short; nobody uses it.
      `--socket=/tmp/sume-${port}.sock`,
      `--pid-file=${join(folder, 'mysql.pid')}`,
      `--init-file=${init}`,
      '--skip-name-resolve',
      '--max-connections=600',
      '--innodb-buffer-pool-size=128M',
      // A commit that was answered survives a crash of the machine.
      '--innodb-flush-log-at-trx-commit=1',
      '--sync-binlog=1',
      ...(programs.family === 'mysql' ? ['--mysqlx=OFF'] : []),
    ],
    logFile: join(folder, 'mysql.log'),
    answers: async () => {
      const connection = await mysql.createConnection({ uri: url, connectTimeout: 2000 })
      await connection.query('SELECT 1')
      await connection.end()
    },
    started: options.started,
  })
  return { server, url }
}

/** One account that may do all, from this machine only; none without a password. */
const accounts = (family: Programs['family'], password: string): string =>
  [
    `CREATE DATABASE IF NOT EXISTS ${DATABASE} CHARACTER SET utf8mb4;`,
    `CREATE USER IF NOT EXISTS '${USER}'@'127.0.0.1' IDENTIFIED BY '${password}';`,
    `GRANT ALL ON *.* TO '${USER}'@'127.0.0.1' WITH GRANT OPTION;`,
    `ALTER USER 'root'@'localhost' IDENTIFIED BY '${password}';`,
    ...(family === 'mariadb'
      ? [
          "DELETE FROM mysql.global_priv WHERE User = '' OR (User = 'root' AND Host <> 'localhost');",
          'FLUSH PRIVILEGES;',
        ]
      : []),
    '',
  ].join('\n')

/**
 * A data directory as the server makes it, made once: making takes seconds, copying does not. Renamed
 * into place, so that two processes may make it at once.
 */
function template(programs: Programs, parent: string): string {
  const version = /\d+\.\d+\.\d+/.exec(
    execFileSync(programs.mysqld, ['--no-defaults', '--version'], { encoding: 'utf8' }),
  )
  const ready = join(parent, `template-${programs.family}-${version?.[0] ?? 'unknown'}`)
  if (existsSync(ready)) return ready
  const making = mkdtempSync(join(parent, 'making-'))
  const data = join(making, 'data')
  try {
    if (programs.family === 'mariadb') {
      run('mariadb-install-db', [
        '--no-defaults',
        ...asRoot,
        '--auth-root-authentication-method=normal',
        '--skip-test-db',
        `--datadir=${data}`,
      ])
    } else {
      run(programs.mysqld, [
        '--no-defaults',
        ...asRoot,
        '--initialize-insecure',
        `--datadir=${data}`,
      ])
    }
    try {
      renameSync(data, ready)
    } catch (error) {
      if (!existsSync(ready)) throw error
    }
  } finally {
    rmSync(making, { recursive: true, force: true })
  }
  return ready
}

function run(command: string, args: string[]): void {
  try {
    execFileSync(command, args, {
      stdio: 'pipe',
      env: { ...process.env, PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin` },
    })
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: Buffer; stderr?: Buffer }
    const said = `${stdout?.toString() ?? ''}\n${stderr?.toString() ?? ''}`
      .trim()
      .split('\n')
      .slice(-10)
      .join('\n')
    throw new Error(`${command} failed:\n${said}`, { cause: error })
  }
}
