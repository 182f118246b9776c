import { elapsedMs } from '@sume-inbox/shared/runtime'
import type { Out } from './out.ts'

/** Lines of progress come no closer together than this. */
const EVERY_MS = 1000

/** Tells how far long work has come, beside the answer: one line a second, and none for what is quick. */
export function openProgress(out: Out): (text: () => string) => void {
  let last = performance.now()
  return (text) => {
    if (elapsedMs(last) < EVERY_MS) return
    last = performance.now()
    out.note(text())
  }
}
