import { join } from 'node:path'
import { canInstall, installPrograms } from './apt.ts'
import { which } from './programs.ts'

const ROOT = join(import.meta.dirname, '../../../..')
const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']
const PACKAGES = ['chromium', 'fonts-liberation']

const find = () => NAMES.map(which).find((path) => path !== null)

/**
 * Finds Chromium for the tests in a browser, and installs it where this is root on Debian or Ubuntu.
 *
 * @returns the program's path.
 * @throws when it is not there and cannot be installed.
 */
export async function haveChromium(log: (line: string) => void): Promise<string> {
  const found = find()
  if (found !== undefined) return found
  if (!canInstall()) {
    throw new Error(
      'the tests in a browser need Chromium: install chromium or google-chrome; only root on Debian or Ubuntu can install it here',
    )
  }
  await installPrograms(PACKAGES, ROOT, log)
  const installed = find()
  if (installed === undefined)
    throw new Error('apt-get installed chromium, but no program of that name was found')
  return installed
}
