import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { deriveKey, IntentProblem, readJson, type SubmitRequest } from '@sume-inbox/shared/intents'
import { type Cli, CommandError } from '../cli.ts'

export interface SubmitOptions {
  readonly path?: string
  readonly body?: string
  readonly kind?: 'job' | 'run'
  readonly key?: string
  readonly wait?: number | true
  readonly json?: true
}

const FIELDS = ['key', 'path', 'body', 'kind']

/**
 * The submit that a command line means: a JSON file's, with what the flags say in its place.
 *
 * @throws CommandError when it is none.
 */
export async function readRequest(
  cli: Cli,
  file: string | undefined,
  options: SubmitOptions,
): Promise<SubmitRequest> {
  const given = file === undefined ? {} : await readGiven(cli, file)
  const odd = Object.keys(given).filter((field) => !FIELDS.includes(field))
  if (odd.length > 0)
    throw new CommandError(
      `${file}: unknown field ${odd.join(', ')}; expected ${FIELDS.join(', ')} (what Sume is to make goes into body)`,
    )
  const { path = given['path'], kind = given['kind'] } = options
  const body =
    options.body === undefined ? given['body'] : parse(Buffer.from(options.body), '--body')
  if (path === undefined || body === undefined)
    throw new CommandError('expected a file, or --path and --body')
  const key = options.key ?? given['key'] ?? deriveKey('cli', JSON.stringify([path, body]))
  // Looked at whole by `reserve`, which names every problem.
  return { key, path, body, ...(kind === undefined ? {} : { kind }) } as SubmitRequest
}

async function readGiven(cli: Cli, file: string): Promise<Record<string, unknown>> {
  const bytes =
    file === '-'
      ? await buffer(cli.stdin)
      : await readFile(resolve(cli.cwd, file)).catch((error: NodeJS.ErrnoException) => {
          throw new CommandError(`${file} cannot be read (${error.code})`)
        })
  const value = parse(bytes, file)
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new CommandError(`${file}: expected a JSON object with ${FIELDS.join(', ')}`)
  return value as Record<string, unknown>
}

function parse(bytes: Buffer, where: string): unknown {
  try {
    return readJson(bytes)
  } catch (error) {
    if (!(error instanceof IntentProblem)) throw error
    throw new CommandError(`${where}: ${error.problems.join('; ')}`)
  }
}
