import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { waitFor } from '@sume-inbox/testing'

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '../..')
const MAX_OUTPUT = 64 * 1024 * 1024

/** One container, as the engine describes it. */
export interface Container {
  readonly Id: string
  readonly Name: string
  readonly State: { Status: string; ExitCode: number; Pid: number; Health?: { Status: string } }
  readonly Config: { User: string }
  readonly HostConfig: { ReadonlyRootfs: boolean }
  readonly NetworkSettings: { Ports: Record<string, { HostIp: string; HostPort: string }[] | null> }
}

/** One run of docker-compose.yml, under a project name and with secrets of its own. */
export function openCompose(port: number) {
  const folder = mkdtempSync(join(tmpdir(), 'compose-'))
  const envFile = join(folder, 'env')
  const project = `sume-inbox-test-${randomBytes(4).toString('hex')}`
  const secret = `whsec_test_${randomBytes(12).toString('hex')}`
  const settings = {
    MYSQL_ROOT_PASSWORD: randomBytes(12).toString('hex'),
    MYSQL_PASSWORD: randomBytes(12).toString('hex'),
    REDIS_PASSWORD: randomBytes(12).toString('hex'),
    SUME_WEBHOOK_SECRETS: secret,
    CONSOLE_PASSWORD: randomBytes(12).toString('hex'),
    CONSOLE_SESSION_KEY: randomBytes(32).toString('hex'),
    FOLLOW_UPS_DIR: join(import.meta.dirname, 'follow-ups'),
    SUME_INBOX_IMAGE: project,
    HTTP_PORT: String(port),
    HTTPS_PORT: String(port + 1),
    // The same few jobs at once in each worker, so that none takes the whole batch.
    WORKER_CONCURRENCY: '4',
  }
  const write = (values: Record<string, string>) =>
    writeFileSync(
      envFile,
      Object.entries(values)
        .map(([name, value]) => `${name}=${value}\n`)
        .join(''),
      { mode: 0o600 },
    )
  write(settings)

  const docker = async (...args: string[]): Promise<string> =>
    (await run('docker', args, { cwd: ROOT, maxBuffer: MAX_OUTPUT })).stdout
  const compose = (...args: string[]) =>
    docker('compose', '--project-name', project, '--env-file', envFile, ...args)
  const inspect = async (...ids: string[]): Promise<Container[]> =>
    ids.length === 0 ? [] : (JSON.parse(await docker('inspect', ...ids)) as Container[])

  return {
    secret,
    settings,
    url: `http://127.0.0.1:${port}`,
    docker,
    compose,
    inspect,
    /** Runs with other settings than the working ones, then puts these back. */
    async with<T>(values: Record<string, string>, work: () => Promise<T>): Promise<T> {
      write(values)
      try {
        return await work()
      } finally {
        write(settings)
      }
    },
    /** The containers of a service, stopped ones too. */
    async containers(service: string): Promise<Container[]> {
      const ids = (await compose('ps', '--all', '--quiet', service)).split('\n')
      return inspect(...ids.filter((id) => id !== ''))
    },
    /** The parsed log lines of a container. */
    async lines(id: string): Promise<Record<string, unknown>[]> {
      const text = await docker('logs', id)
      return text
        .split('\n')
        .filter((line) => line.startsWith('{'))
        .map((line) => JSON.parse(line) as Record<string, unknown>)
    },
    /** Waits until the engine calls it healthy. */
    healthy: (id: string) =>
      waitFor(
        `${id} to be healthy`,
        async () => (await inspect(id))[0]?.State.Health?.Status === 'healthy',
        90_000,
      ),
    /** What `sume <command> --json` says. */
    async sume<T>(...command: string[]): Promise<T> {
      return JSON.parse(await compose('run', '--rm', 'cli', ...command, '--json')) as T
    },
    async close(): Promise<void> {
      await compose('--profile', '*', 'down', '--volumes', '--timeout', '5')
      await docker('image', 'rm', '--force', project)
      rmSync(folder, { recursive: true })
    },
  }
}
