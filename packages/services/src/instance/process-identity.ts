import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, readlinkSync } from 'node:fs'

/**
 * When a process started, in the system's own form, or `null` when there is none: a pid alone may by
 * now belong to somebody else.
 */
export function startTime(pid: number): string | null {
  try {
    if (existsSync('/proc/self/stat')) {
      // The 22nd field; the second may hold spaces and brackets, so count from its end.
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      return fields[0] === 'Z' ? null : (fields[19] ?? null)
    }
    return (
      execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim() || null
    )
  } catch {
    return null
  }
}

/**
 * Where process numbers mean the same: one boot, one container. A folder that a container shares shows
 * that container's numbers, which are other processes here.
 */
export function processSpace(): { boot: string; namespace: string } {
  try {
    return {
      boot: readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(),
      namespace: readlinkSync('/proc/self/ns/pid'),
    }
  } catch {
    return { boot: '', namespace: '' }
  }
}
