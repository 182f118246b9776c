import { userInfo } from 'node:os'
import { run } from './run.ts'
import { openOut } from './out.ts'

// `sume status | head` closes the pipe: nothing is wrong then.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  process.exit(0)
})

process.exitCode = await run(process.argv.slice(2), {
  env: process.env,
  cwd: process.cwd(),
  stdin: process.stdin,
  out: openOut(process.stdout, process.stderr),
  user: account(),
  stoppable() {
    const stopping = new AbortController()
    // Once: a second signal ends the process at once.
    for (const signal of ['SIGINT', 'SIGTERM'] as const)
      process.once(signal, () => stopping.abort())
    return stopping.signal
  },
})

function account(): string {
  try {
    return userInfo().username
  } catch {
    // A container may run under a number that no account has.
    return `user ${process.getuid?.() ?? 'unknown'}`
  }
}
