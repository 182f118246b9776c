import Table from 'cli-table3'
import { printable } from './out.ts'

/** A table without lines and colours: readable in a terminal, and in a pipe. */
export function table(head: string[], rows: readonly (string | number)[][]): string {
  const numeric = head.map((_, i) => rows.every((row) => typeof row[i] === 'number'))
  const made = new Table({
    head,
    colAligns: numeric.map((isNumber) => (isNumber ? 'right' : 'left')),
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 2 },
    chars: {
      top: '',
      'top-mid': '',
      'top-left': '',
      'top-right': '',
      bottom: '',
      'bottom-mid': '',
      'bottom-left': '',
      'bottom-right': '',
      left: '',
      'left-mid': '',
      mid: '',
      'mid-mid': '',
      right: '',
      'right-mid': '',
      middle: '',
    },
  })
  // Before the table sees them: it answers an escape sequence in a cell with one of its own.
  for (const row of rows)
    made.push(row.map((cell) => (typeof cell === 'string' ? printable(cell) : cell)))
  return made
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')
}
