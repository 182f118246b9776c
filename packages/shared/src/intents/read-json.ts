import { isTooDeep } from '../envelope/index.ts'
import { IntentProblem } from './prepare-intent.ts'

/** ES2026, in Node since 22; TypeScript's libraries do not know it yet. */
interface ExactJson {
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
  ): unknown
  /** An object that `JSON.stringify` writes as this text. */
  rawJSON(text: string): object
}
const exact = JSON as unknown as ExactJson

/** Without a byte order mark, which some editors write. */
const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Reads the JSON of a paid submit without changing what it says: a number that JavaScript cannot hold, such
 * as a 64-bit seed, is kept as its own text, and bytes that are no UTF-8 are refused instead of replaced.
 *
 * @throws IntentProblem when it cannot be read; it quotes nothing, since the text is a prompt.
 */
export function readJson(bytes: Uint8Array): unknown {
  let text: string
  try {
    text = utf8.decode(bytes)
  } catch {
    throw new IntentProblem(['the text is not UTF-8'])
  }
  if (isTooDeep(text)) throw new IntentProblem(['the JSON is deeper than 100 levels'])
  try {
    return exact.parse(text, (_key, value, { source }) =>
      typeof value === 'number' && source !== undefined && String(value) !== source
        ? exact.rawJSON(source)
        : value,
    )
  } catch {
    throw new IntentProblem(['that is no JSON'])
  }
}
