import { ConfigError } from '@sume-inbox/shared/runtime'
import { expect, test } from 'vitest'
import { readConfig } from './config.ts'

const SERVICES = {
  DATABASE_URL: 'mysql://sume@127.0.0.1/sume_inbox',
  REDIS_URL: 'redis://127.0.0.1',
}
const PASSWORD = { CONSOLE_PASSWORD: 'operator-password' }

function problems(env: Record<string, string>): readonly string[] {
  try {
    readConfig(env)
    return []
  } catch (error) {
    return (error as ConfigError).problems
  }
}

test('what is left out has its default', () => {
  expect(readConfig({ ...SERVICES, ...PASSWORD })).toMatchObject({
    HOST: '0.0.0.0',
    PORT: 8081,
    CONSOLE_BASE_PATH: '/',
    MAX_ATTEMPTS: 10,
    STOP_GRACE_MS: 8000,
  })
})

test('without a password it must be bound to this machine', () => {
  expect(problems(SERVICES)).toEqual([expect.stringMatching(/^CONSOLE_PASSWORD: is missing; set /)])
  for (const HOST of ['127.0.0.1', '127.8.8.8', '::1', 'localhost'])
    expect(problems({ ...SERVICES, HOST })).toEqual([])
  for (const HOST of ['0.0.0.0', '::', '10.0.0.1', '127.0.0.1.example', 'console'])
    expect(problems({ ...SERVICES, HOST })).toHaveLength(1)
})

test('every problem is told at once, and no value is shown', () => {
  const told = problems({
    DATABASE_URL: 'postgres://hunter2@127.0.0.1/x',
    PORT: 'http',
    CONSOLE_VIEWER_PASSWORD: 'hunter2',
    CONSOLE_SESSION_KEY: 'hunter2',
    CONSOLE_BASE_PATH: 'hunter2',
    MAX_ATTEMPTS: '0',
  })
  const names = new Set(told.map((problem) => problem.split(':')[0]))
  expect(names).toEqual(
    new Set([
      'CONSOLE_BASE_PATH',
      'CONSOLE_PASSWORD',
      'CONSOLE_SESSION_KEY',
      'CONSOLE_VIEWER_PASSWORD',
      'DATABASE_URL',
      'MAX_ATTEMPTS',
      'PORT',
      'REDIS_URL',
    ]),
  )
  expect(told.join('\n')).not.toContain('hunter2')
})

test('a viewer’s password needs an operator’s beside it, and a different one', () => {
  const viewer = { CONSOLE_VIEWER_PASSWORD: 'viewer-password' }
  expect(problems({ ...SERVICES, ...PASSWORD, ...viewer })).toEqual([])
  expect(problems({ ...SERVICES, HOST: '127.0.0.1', ...viewer })).toHaveLength(1)
  const same = { CONSOLE_VIEWER_PASSWORD: PASSWORD.CONSOLE_PASSWORD }
  expect(problems({ ...SERVICES, ...PASSWORD, ...same })).toHaveLength(1)
})

test('a base path may come with or without its last slash', () => {
  const path = (CONSOLE_BASE_PATH: string) =>
    readConfig({ ...SERVICES, ...PASSWORD, CONSOLE_BASE_PATH }).CONSOLE_BASE_PATH
  expect(path('/')).toBe('/')
  expect(path('/console')).toBe('/console/')
  expect(path('/ops/console/')).toBe('/ops/console/')
  for (const CONSOLE_BASE_PATH of ['console', '//evil.example', '/a//b', '/a b', '/:id', '/a/*'])
    expect(
      problems({ ...SERVICES, ...PASSWORD, CONSOLE_BASE_PATH }),
      CONSOLE_BASE_PATH,
    ).toHaveLength(1)
})
