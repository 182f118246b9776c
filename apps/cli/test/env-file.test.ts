import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'

const PRELOAD = join(import.meta.dirname, '../src/env-file.ts')
const NAMES = ['DATABASE_URL', 'SUME_API_URL', 'BACKOFF_MS']

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'env-file-'))
  mkdirSync(join(folder, '.local'))
})
const dev = (pid: number) =>
  writeFileSync(
    join(folder, '.local/dev.env'),
    `DATABASE_URL='dev'\nSUME_API_URL='sandbox'\nDEV_PID='${pid}'\n`,
  )
const own = () => writeFileSync(join(folder, '.env'), 'DATABASE_URL=production\nBACKOFF_MS=\n')

/** What `pnpm sume` would find in its environment. */
const settings = (env: Record<string, string> = {}): unknown =>
  JSON.parse(
    execFileSync(
      process.execPath,
      [
        '--import',
        PRELOAD,
        '-p',
        `JSON.stringify(${JSON.stringify(NAMES)}.map((name) => process.env[name] ?? null))`,
      ],
      { cwd: folder, env, encoding: 'utf8' },
    ),
  )

test('while dev is up its settings, and none of .env', () => {
  dev(process.pid)
  own()
  expect(settings()).toEqual(['dev', 'sandbox', null])
})

test('without it those of .env, also where a killed dev has left its file', () => {
  own()
  expect(settings()).toEqual(['production', null, ''])
  dev(2 ** 30)
  expect(settings()).toEqual(['production', null, ''])
})

test('a database that the shell names is not dev’s', () => {
  dev(process.pid)
  own()
  expect(settings({ DATABASE_URL: 'mine' })).toEqual(['mine', null, ''])
})

test('without any file there is nothing, and that is no error', () => {
  expect(settings()).toEqual([null, null, null])
})
