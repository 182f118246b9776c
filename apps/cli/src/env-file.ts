import { existsSync, readFileSync } from 'node:fs'
import { env, kill, loadEnvFile } from 'node:process'
import { parseEnv } from 'node:util'

// Loaded before main.ts by `pnpm sume`: settings come from one file, never from two. Those of a running `pnpm dev` mixed
// with those of production would ask the sandbox about paid jobs.
const DEV = '.local/dev.env'
const OWN = '.env'

/** `pnpm dev` removes its file when it stops; where it was killed, the file is a leftover. */
function devIsUp(): boolean {
  if (!existsSync(DEV)) return false
  const pid = Number(parseEnv(readFileSync(DEV, 'utf8'))['DEV_PID'])
  try {
    return pid > 0 && kill(pid, 0)
  } catch {
    return false
  }
}

const named = env['DATABASE_URL'] ?? env['DATABASE_URL_FILE']
if (named === undefined && devIsUp()) loadEnvFile(DEV)
else if (existsSync(OWN)) loadEnvFile(OWN)
