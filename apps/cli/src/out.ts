/** Where a command's words go. */
export interface Out {
  /** The answer. */
  line(text: string): void
  /** What went wrong, or what a person should know beside the answer. */
  note(text: string): void
  /** The answer for programs. */
  json(value: unknown): void
}

/** Error texts come from follow-ups, and bodies from anybody: an escape sequence in them must not reach the terminal. */
const CONTROL = /[^\P{Cc}\n\t]/gu

/** The text with every control character but line ends and tabs made visible. */
export const printable = (text: string): string => text.replaceAll(CONTROL, '\ufffd')

const escaped = (json: string): string =>
  json.replaceAll(CONTROL, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)

export function openOut(stdout: NodeJS.WritableStream, stderr: NodeJS.WritableStream): Out {
  return {
    line: (text) => void stdout.write(`${printable(text)}\n`),
    note: (text) => void stderr.write(`${printable(text)}\n`),
    json: (value) => void stdout.write(`${escaped(JSON.stringify(value, null, 2))}\n`),
  }
}
