const UNITS = [
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
] as const

/** `42 s`, `3 min`, `5 h`, `12 d`: the largest unit that fits, rounded down. */
export function ageText(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds))
  for (const [unit, size] of UNITS) {
    if (whole >= size) return `${Math.floor(whole / size)} ${unit}`
  }
  return `${whole} s`
}
