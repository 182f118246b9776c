import type { SoakReport } from './soak.ts'

const MOST_SHOWN = 20

/** What a soak came to, for people. */
export function reportLines(report: SoakReport): string[] {
  const inSeconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`
  const count = [...report.faults.values()].reduce((sum, times) => sum + times, 0)
  const counts = (of: ReadonlyMap<string, number>) =>
    [...of].map(([name, times]) => `  ${String(times).padStart(8)}  ${name}`)
  return [
    '',
    `${report.events} events in ${inSeconds(report.loadMs)}, at rest ${inSeconds(report.drainMs)} later`,
    ...counts(report.figures),
    `${count} faults`,
    ...counts(report.faults),
    report.slowestRetryMs === null
      ? 'no worker was killed while it held an event'
      : `slowest retry after a worker was killed: ${inSeconds(report.slowestRetryMs)}`,
    report.wrong.length === 0
      ? 'nothing lost, nothing doubled'
      : `${report.wrong.length} promises broken:`,
    ...report.wrong.slice(0, MOST_SHOWN).map((line) => `  ${line}`),
  ]
}
