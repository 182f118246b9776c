import { expect, test } from 'vitest'
import { readJson } from './read-json.ts'

const bytes = (text: string) => Buffer.from(text)

test.each([
  '{"seed":12345678901234567890,"scale":1e400,"a":1.0,"b":-0,"c":[1E5,0.1]}',
  '{"text":"é 😀 \\ud800","nothing":null,"yes":true,"deep":{"n":7}}',
])('%s says the same afterwards', (text) => {
  const written = JSON.stringify(readJson(bytes(text)))
  expect(written).toBe(text)
})

test('a byte order mark is no part of the text', () => {
  expect(readJson(bytes('\ufeff{"a":1}'))).toEqual({ a: 1 })
})

test.each([
  ['the text is not UTF-8', Buffer.from([0x22, 0xe9, 0x22])],
  ['that is no JSON', bytes('{"a":')],
  ['that is no JSON', bytes('')],
  ['the JSON is deeper than 100 levels', bytes('['.repeat(100_000) + ']'.repeat(100_000))],
])('%s: refused', (problem, given) => {
  expect(() => readJson(given)).toThrow(problem)
})
