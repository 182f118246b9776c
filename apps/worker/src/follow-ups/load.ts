import { access } from 'node:fs/promises'
import { extname, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { defineFollowUps, type FollowUps } from '@sume-inbox/shared/follow-ups'
import { ConfigError, errorText } from '@sume-inbox/shared/runtime'

const EXTENSIONS = ['.ts', '.mts', '.js', '.mjs']

/**
 * Loads the module that `FOLLOW_UPS` names, from the working directory unless the path is absolute.
 * Its default export is checked here, so that a wrong one stops the start and not the first event.
 *
 * @throws ConfigError that names the path and the fix.
 */
export async function loadFollowUps(path: string, cwd: string): Promise<FollowUps> {
  const file = resolve(cwd, path)
  const refuse = (problem: string): never => {
    throw new ConfigError([`FOLLOW_UPS: ${file} ${problem}`])
  }
  if (!EXTENSIONS.includes(extname(file)))
    refuse(`is no module; use one of ${EXTENSIONS.join(', ')}`)
  await access(file).catch(() =>
    refuse('is not there; a relative path begins at the working directory'),
  )
  const followUps = await importDefault(file).catch((error: unknown) =>
    refuse(`cannot be loaded: ${errorText(error)}`),
  )
  if (typeof followUps !== 'object' || followUps === null) {
    return refuse(
      'has no object as its default export; write `export default defineFollowUps({ … })`',
    )
  }
  try {
    return defineFollowUps(followUps as FollowUps)
  } catch (error) {
    return refuse(`cannot be used: ${errorText(error)}`)
  }
}

const importDefault = async (file: string): Promise<unknown> => {
  const module = (await import(pathToFileURL(file).href)) as { default?: unknown }
  return module.default
}
