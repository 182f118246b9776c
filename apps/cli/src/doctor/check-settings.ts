import { access } from 'node:fs/promises'
import { resolve } from 'node:path'
import { ConfigError, type Env, readEnv, text } from '@sume-inbox/shared/runtime'
import { z } from 'zod'
import { doctorSettings } from '../settings.ts'
import { type Finding, fail, ok, warn } from './finding.ts'

export type Settings = Partial<z.infer<typeof doctorSettings>>

/**
 * Reads each setting by itself, so that a wrong one does not keep the others, and the servers that
 * they name, from being checked.
 */
export async function checkSettings(
  env: Env,
  cwd: string,
): Promise<{ settings: Settings; findings: Finding[] }> {
  const settings: Record<string, unknown> = {}
  const findings: Finding[] = []
  for (const [name, spec] of Object.entries(doctorSettings.shape)) {
    try {
      settings[name] = readEnv(z.object({ [name]: spec }), env)[name]
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      for (const problem of error.problems) findings.push(settingProblem(problem))
    }
  }
  if (findings.length === 0) findings.push(ok('the settings can be read'))
  findings.push(await checkFollowUps(env, cwd), judgePaying(settings))
  return { settings, findings }
}

/** A problem of `readEnv` is `NAME: what is wrong; what to do`. */
function settingProblem(problem: string): Finding {
  const [what = problem, ...fix] = problem.split('; ')
  return fail(
    what,
    fix.length > 0 ? fix.join('; ') : 'correct it; .env.example names every setting',
  )
}

/** Without a key nothing is wrong with a receiver, but intents wait for ever. */
function judgePaying({ SUME_API_KEY: key, SUME_WEBHOOK_URL: url }: Settings): Finding {
  if (key === undefined || key === '')
    return warn(
      'SUME_API_KEY is not set: workers neither submit intents nor ask Sume about them',
      'set the key of your Sume account, or leave it where nothing is submitted through this ledger',
    )
  if (url === undefined)
    return warn(
      'SUME_WEBHOOK_URL is not set: of a submit without a webhook_url of its own Sume tells nobody, and its end is found by asking',
      "set the receiver's public address, for example https://inbox.example.com/webhooks/sume",
    )
  return ok('SUME_API_KEY and SUME_WEBHOOK_URL are set')
}

const followUpsSettings = z.object({
  FOLLOW_UPS: text('set the path of your follow-ups module; the worker does not start without'),
})

async function checkFollowUps(env: Env, cwd: string): Promise<Finding> {
  try {
    const file = resolve(cwd, readEnv(followUpsSettings, env).FOLLOW_UPS)
    return await access(file).then(
      () => ok(`FOLLOW_UPS is there (${file})`),
      () =>
        fail(
          `FOLLOW_UPS: ${file} is not there`,
          'correct the path; a relative one begins at the working directory',
        ),
    )
  } catch (error) {
    if (error instanceof ConfigError) return settingProblem(error.problems[0] ?? 'FOLLOW_UPS')
    throw error
  }
}
