import { InvalidArgumentError } from 'commander'
import type { SumeEvent } from './body.ts'
import { EVENTS, isSumeEvent } from './body.ts'
import { CommandError } from '../cli.ts'
import { didYouMean } from '../nearest.ts'

export interface TriggerOptions {
  readonly to?: string
  readonly jobId?: string
  readonly runId?: string
  readonly requestId?: string
  readonly status?: 'OK' | 'ERROR'
  readonly body?: string
  readonly secretFile?: string
  readonly times: number
  readonly json?: true
}

const MAX_TIMES = 10_000

export function readEvent(word: string): SumeEvent {
  if (isSumeEvent(word)) return word
  throw new InvalidArgumentError(`Expected one of ${EVENTS.join(', ')}${didYouMean(word, EVENTS)}`)
}

export function readTimes(word: string): number {
  const times = Number(word)
  if (/^\d{1,5}$/.test(word) && times >= 1 && times <= MAX_TIMES) return times
  throw new InvalidArgumentError(`Expected a whole number from 1 to ${MAX_TIMES}.`)
}

/** `fetch` would quote a URL with a password in its error. */
export function readTarget(word: string): string {
  const url = URL.parse(word)
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw new InvalidArgumentError('Expected a URL that begins with http:// or https://.')
  }
  if (url.username !== '' || url.password !== '') {
    throw new InvalidArgumentError('Expected a URL without user and password.')
  }
  return url.href
}

/** Options that would have no effect are refused: somebody who gives one expects it to do something. */
export function refuseIdle(event: SumeEvent | undefined, options: TriggerOptions): void {
  const { jobId, runId, requestId, status, body } = options
  if (body !== undefined) {
    if ([jobId, runId, requestId, status].some((given) => given !== undefined)) {
      throw new CommandError(
        '--body is sent as it is, so ids and --status would do nothing; write them into the body',
      )
    }
    return
  }
  if (event === undefined) {
    throw new CommandError(`expected an event, one of ${EVENTS.join(', ')}, or --body`)
  }
  const isRun = event.startsWith('run.')
  if (isRun && jobId !== undefined) {
    throw new CommandError(`${event} has no job_id; did you mean --run-id?`)
  }
  if (!isRun && runId !== undefined) {
    throw new CommandError(`${event} has no run_id; did you mean --job-id?`)
  }
}
