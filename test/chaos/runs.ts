import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A step of a follow-up's run, as `fixtures/follow-ups.ts` noted it. */
interface RunStep {
  readonly step: 'start' | 'in complete' | 'after complete'
  readonly key: string
  readonly attempt: number
  readonly pid: number
  readonly at: number
}

/** The notes of the follow-ups of one system. */
export interface Runs {
  /** For the processes' environment. */
  readonly file: string
  steps(): RunStep[]
  /** The runs that were started, of one event or of all. */
  started(key?: string): RunStep[]
  /** Lets the runs of this event go on that wait. */
  letGo(key: string): void
}

export function openRuns(): Runs {
  const file = join(mkdtempSync(join(tmpdir(), 'runs-')), 'runs.jsonl')
  writeFileSync(file, '')
  const steps = () =>
    readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as RunStep)
  return {
    file,
    steps,
    started: (key) =>
      steps().filter((line) => line.step === 'start' && (key === undefined || line.key === key)),
    letGo: (key) => writeFileSync(`${file}.${key}`, ''),
  }
}
