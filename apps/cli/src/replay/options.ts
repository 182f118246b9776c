import type { EventFilter } from '@sume-inbox/shared/ledger'
import { InvalidArgumentError } from 'commander'
import { CommandError } from '../cli.ts'

/** What `replay` was asked, as commander gives it. */
export interface ReplayOptions {
  readonly dead?: true
  readonly done?: true
  readonly force?: true
  readonly kind?: 'job' | 'run'
  readonly status?: 'OK' | 'ERROR'
  readonly event?: string
  readonly since?: Date
  readonly until?: Date
  readonly error?: string
  readonly yes?: true
  readonly why?: string
  readonly by?: string
  readonly json?: true
}

const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 }

/** A moment: `2h` ago, or a date as ISO 8601 has it; without a zone it is UTC. */
export function readMoment(text: string, now: () => number = Date.now): Date {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  if (count !== undefined && unit !== undefined)
    return new Date(now() - Number(count) * (UNITS[unit] ?? 0) * 1000)
  const iso = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2})?)?$/.exec(
    text,
  )
  // A date alone is UTC by the standard, a time without a zone would be this machine's.
  const date = new Date(
    iso !== null && iso[1] !== undefined && iso[4] === undefined ? `${text}Z` : text,
  )
  const day = new Date(text.slice(0, 10))
  if (
    iso === null ||
    Number.isNaN(date.getTime()) ||
    // The 30th of February would become the 2nd of March.
    day.toISOString().slice(0, 10) !== text.slice(0, 10)
  ) {
    throw new InvalidArgumentError(
      'expected how long ago (90s, 30m, 2h, 7d) or a time (2026-01-31, 2026-01-31T12:00Z)',
    )
  }
  return date
}

/**
 * The filter of a replay of many events.
 *
 * @returns `null` where ids were given instead.
 * @throws CommandError for what contradicts itself.
 */
export function readFilter(ids: readonly string[], options: ReplayOptions): EventFilter | null {
  const { kind, status, event, since, until, error } = options
  const narrowing = Object.entries({ kind, status, event, since, until, error }).filter(
    ([, value]) => value !== undefined,
  )
  if (ids.length > 0) {
    if (options.dead === true || options.done === true || narrowing.length > 0)
      throw new CommandError('give ids, or --dead or --done with filters, not both')
    return null
  }
  if (error === '' || event === '')
    throw new CommandError('--error and --event need a text: an empty one would mean every event')
  if (options.dead === true && options.done === true)
    throw new CommandError('--dead and --done exclude each other')
  if (options.dead !== true && options.done !== true)
    throw new CommandError('expected ids, or --dead (or --done --force), perhaps with filters')
  if (options.done === true && options.force !== true) {
    throw new CommandError(
      'these events are done: running their follow-ups again needs --force, and follow-ups that bear it',
    )
  }
  return { state: options.done === true ? 'done' : 'dead', ...Object.fromEntries(narrowing) }
}
