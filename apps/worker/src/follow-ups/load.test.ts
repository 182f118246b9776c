import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadFollowUps } from './load.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'follow-ups-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

function write(name: string, source: string): string {
  writeFileSync(join(folder, name), source)
  return name
}

test.for(['ts', 'mts', 'js', 'mjs'])(
  'a .%s module is loaded from the working directory',
  async (ext) => {
    const file = write(`good.${ext}`, "export default { 'job.*': () => {} }")
    expect(Object.keys(await loadFollowUps(file, folder))).toEqual(['job.*'])
    expect(Object.keys(await loadFollowUps(join(folder, file), '/'))).toEqual(['job.*'])
  },
)

test.for([
  ['a path without a file', () => 'nowhere.ts', 'is not there'],
  ['another kind of file', () => write('a.json', '{}'), 'is no module'],
  ['broken code', () => write('b.mjs', 'export default {'), 'cannot be loaded'],
  ['no default export', () => write('c.mjs', 'export const a = 1'), 'no object as its default'],
  ['no entry', () => write('d.mjs', 'export default {}'), 'there is no entry'],
  ['no function', () => write('e.mjs', "export default { '*': 1 }"), "'*' is not a function"],
  ['no pattern', () => write('f.mjs', "export default { 'a*': () => {} }"), 'is not a pattern'],
] as [string, () => string, string][])('%s is refused by its path', async ([, make, problem]) => {
  const file = make()
  const refused = loadFollowUps(file, folder)
  await expect(refused).rejects.toMatchObject({ code: 'CONFIG' })
  await expect(refused).rejects.toThrow(`FOLLOW_UPS: ${join(folder, file)}`)
  await expect(refused).rejects.toThrow(problem)
})
