import { expect, test } from 'vitest'
import { deriveKey } from './derive-key.ts'

test('the same ids give the same key, for ever', () => {
  // A key that changed with a version would pay twice: this one is fixed.
  expect(deriveKey('order', 4711, 'cover')).toBe(
    'order:564f202918bdd349eef9f31f8854d3a23f99355f8ab24acd2095f3348df10082',
  )
  expect(deriveKey('order', '4711', 'cover')).toBe(deriveKey('order', 4711, 'cover'))
})

test('other ids give other keys, however they are cut', () => {
  const keys = [
    deriveKey('a', 'bc', 'd'),
    deriveKey('a', 'b', 'cd'),
    deriveKey('a', 'bcd'),
    deriveKey('b', 'bcd'),
    deriveKey('a', 'bcd', '0'),
    deriveKey('a', '["bcd"]'),
    deriveKey('a', 'bcd '),
    deriveKey('a', 'BCD'),
  ]
  expect(new Set(keys).size).toBe(keys.length)
})

test('a key is one that Sume and the ledger take', () => {
  expect(deriveKey('s'.repeat(64), '日本語', 'x'.repeat(10_000))).toMatch(/^[\x21-\x7e]{1,255}$/)
})

test.each([
  ['an empty scope', () => deriveKey('', 'a')],
  ['a scope with a colon', () => deriveKey('a:b', 'a')],
  ['no id', () => deriveKey('a')],
  ['an empty id', () => deriveKey('a', '')],
  ['half a number', () => deriveKey('a', 1.5)],
  ['NaN', () => deriveKey('a', Number.NaN)],
  ['a number too large to be exact', () => deriveKey('a', 2 ** 53)],
  ['undefined from somewhere', () => deriveKey('a', undefined as unknown as string)],
])('%s is refused', (_, derive) => {
  expect(derive).toThrow(TypeError)
})
