import { readFileSync } from 'node:fs'

const LINES = 15

/** The end of a log file, for an error's message. */
export function logTail(file: string): string {
  try {
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n').slice(-LINES)
    return `the end of its log:\n${lines.join('\n')}`
  } catch {
    return 'it left no log'
  }
}
