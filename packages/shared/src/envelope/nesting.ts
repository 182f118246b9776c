const MAX_LEVELS = 100
const QUOTE = 0x22
const BACKSLASH = 0x5c

/**
 * Whether valid JSON nests deeper than 100 levels: MySQL's JSON functions refuse such a document, and
 * code that walks it runs out of stack. Counted in the text, without recursion.
 */
export function isTooDeep(json: string): boolean {
  let level = 0
  let inString = false
  for (let i = 0; i < json.length; i++) {
    const c = json.charCodeAt(i)
    if (inString) {
      if (c === BACKSLASH) i++
      else if (c === QUOTE) inString = false
    } else if (c === QUOTE) inString = true
    else if (c === 0x7b || c === 0x5b) {
      if (++level > MAX_LEVELS) return true
    } else if (c === 0x7d || c === 0x5d) level--
  }
  return false
}
