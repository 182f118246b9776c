import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { mysqlAnswers } from '../answers.ts'
import { DATABASE, MYSQL_OPTIONS } from '../server-settings.ts'
import { asRoot, makeDataDirectory } from './data-directory.ts'
import { freePort } from '../free-port.ts'
import type { ManagedServer } from '../managed-server.ts'
import { startServer } from './server-process.ts'
import type { Programs } from './programs.ts'

const USER = 'sume'
const ANSWER_MS = 1000

interface StartOptions {
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
  await makeDataDirectory(programs, options.parent, folder, data)
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
      // In its data directory, by a relative name: the path of a socket must be short.
      '--socket=server.sock',
      `--pid-file=${join(folder, 'mysql.pid')}`,
      `--init-file=${init}`,
      ...MYSQL_OPTIONS,
      ...(programs.family === 'mysql' ? ['--mysqlx=OFF'] : []),
    ],
    cwd: data,
    logFile: join(folder, 'mysql.log'),
    answers: () => mysqlAnswers(url, ANSWER_MS),
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
