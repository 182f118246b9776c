import { closest, distance } from 'fastest-levenshtein'

/**
 * What somebody may have meant who wrote `word`: the candidate that `word` is the beginning or the end
 * of, else the one with the fewest changes, where these are few for its length.
 */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const part = candidates.find(
    (candidate) => word.length >= 4 && (candidate.startsWith(word) || candidate.endsWith(word)),
  )
  if (part !== undefined || candidates.length === 0) return part
  const best = closest(word, candidates)
  return distance(word, best) <= Math.max(2, Math.floor(word.length * 0.3)) ? best : undefined
}

/** `; did you mean X?`, or nothing. */
export function didYouMean(word: string, candidates: readonly string[]): string {
  const meant = nearest(word, candidates)
  return meant === undefined ? '' : `; did you mean ${meant}?`
}
