import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { guard } from './instance/guardian.ts'
import { endInstance, makeInstance } from './instance/instance.ts'
import { startTime } from './instance/process-identity.ts'

const ROOT = join(import.meta.dirname, '../../..')

/** Processes that end with ours, however we end. */
export interface Tie {
  add(pid: number): void
  /** Ends what is left of them. */
  close(): Promise<void>
}

/** For processes started by a tool: without it they would go on alone after a SIGKILL of the tool. */
export function tieProcesses(): Tie {
  const parent = join(ROOT, '.local/services')
  mkdirSync(parent, { recursive: true })
  const instance = makeInstance(parent)
  const release = guard(instance.folder)
  return {
    add: (pid) => instance.note(`process-${pid}`, { pid, startedAt: startTime(pid) }),
    async close() {
      await endInstance(instance.folder)
      await release()
    },
  }
}
