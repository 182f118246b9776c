import { execFile } from 'node:child_process'
import { constants, existsSync } from 'node:fs'
import { cp, rename } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import type { Programs } from './programs.ts'

const run = promisify(execFile)

/** The servers refuse to run as root unless told that it is meant. */
export const asRoot = process.getuid?.() === 0 ? ['--user=root'] : []

/**
 * Makes a new data directory. The server takes seconds for one, copying it does not, so the first of
 * each version is kept as a template.
 *
 * @param parent where the template is kept.
 * @param instance the instance's folder: a template that is never finished goes with it.
 */
export async function makeDataDirectory(
  programs: Programs,
  parent: string,
  instance: string,
  target: string,
): Promise<void> {
  const template = join(parent, `template-${programs.family}-${programs.version}`)
  if (!existsSync(template)) {
    const making = join(instance, 'template')
    await initialise(programs, making)
    // By renaming, so that nobody copies half of it. Another process may have been quicker.
    await rename(making, template).catch((error: unknown) => {
      if (!existsSync(template)) throw error
    })
  }
  await cp(template, target, { recursive: true, mode: constants.COPYFILE_FICLONE })
}

async function initialise(programs: Programs, data: string): Promise<void> {
  const args =
    programs.family === 'mariadb'
      ? ['--auth-root-authentication-method=normal', '--skip-test-db']
      : ['--initialize-insecure']
  try {
    await run(programs.initialise, ['--no-defaults', ...asRoot, ...args, `--datadir=${data}`], {
      env: { ...process.env, PATH: [process.env['PATH'], '/usr/sbin', '/sbin'].join(delimiter) },
    })
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string }
    const said = `${stdout}\n${stderr}`.trim().split('\n').slice(-15).join('\n')
    throw new Error(`${programs.initialise} failed:\n${said}`, { cause: error })
  }
}
