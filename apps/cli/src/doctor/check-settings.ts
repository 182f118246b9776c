import { access } from 'node:fs/promises'
import { resolve } from 'node:path'
import { ConfigError, type Env, readEnv, text } from '@sume-inbox/shared/runtime'
import { z } from 'zod'
import { doctorSettings } from '../settings.ts'
import { type Finding, fail, ok } from './finding.ts'

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
  findings.push(await checkFollowUps(env, cwd))
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
