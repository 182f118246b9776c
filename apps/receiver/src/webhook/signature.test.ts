import { signatureVectors } from '@sume-inbox/testing'
import { describe, expect, test } from 'vitest'
import { refuseSignature } from './signature.ts'

const { secret, previous_secret: previous, timestamp, vectors } = signatureVectors
const rules = { secrets: [secret], toleranceSeconds: 300 }
const [first] = vectors
if (first === undefined) throw new Error('there are no vectors')
const body = Buffer.from(first.body_base64, 'base64')
const hex = first.signature.slice(3)

const refuse = (
  over: {
    timestamp?: string[]
    signature?: string[]
    secrets?: string[]
    now?: number
    body?: Buffer
  } = {},
) =>
  refuseSignature(
    over.body ?? body,
    {
      timestamp: over.timestamp ?? [String(timestamp)],
      signature: over.signature ?? [first.signature],
    },
    { ...rules, secrets: over.secrets ?? [secret] },
    over.now ?? timestamp,
  )

describe.each(vectors)('vector $name', (vector) => {
  const bytes = Buffer.from(vector.body_base64, 'base64')

  test('is signed by its secret, and by no other', () => {
    expect(refuse({ body: bytes, signature: [vector.signature] })).toBeNull()
    expect(refuse({ body: bytes, signature: [vector.signature], secrets: [previous] })).toBe(
      'no signature matches',
    )
  })

  test('passes with either secret while both are set', () => {
    const both = [secret, previous]
    expect(refuse({ body: bytes, signature: [vector.signature], secrets: both })).toBeNull()
    expect(
      refuse({ body: bytes, signature: [vector.signature_with_previous_secret], secrets: both }),
    ).toBeNull()
  })

  test('is refused when one byte more was signed', () => {
    const longer = Buffer.concat([bytes, Buffer.from(' ')])
    expect(refuse({ body: longer, signature: [vector.signature] })).toBe('no signature matches')
  })
})

test.each([
  ['another signature before it', `v1=${'0'.repeat(64)},v1=${hex}`],
  ['a space between', `v1=${'0'.repeat(64)} v1=${hex}`],
  ['an unknown version before it', `v2=abc, v1=${hex}`],
  ['upper-case hex', `v1=${hex.toUpperCase()}`],
])('a good signature is found with %s', (_, signature) => {
  expect(refuse({ signature: [signature] })).toBeNull()
})

test.each([
  ['', 'no well-formed signature'],
  ['abc', 'no well-formed signature'],
  [hex, 'no well-formed signature'],
  [`v1=${hex.slice(1)}`, 'no well-formed signature'],
  [`v1=${hex}0`, 'no well-formed signature'],
  [`v1=${'z'.repeat(64)}`, 'no well-formed signature'],
  [`v1=é${'a'.repeat(63)}`, 'no well-formed signature'],
  [`V1=${hex}`, 'no well-formed signature'],
  [`v2=${hex}`, 'no well-formed signature'],
  [`v1=${'0'.repeat(64)}`, 'no signature matches'],
  [`${'v2=x,'.repeat(16)}v1=${hex}`, 'too many signatures'],
])('the signature %j is refused', (signature, because) => {
  expect(refuse({ signature: [signature] })).toBe(because)
})

test.each([
  '',
  '1700000000abc',
  ` ${timestamp}`,
  `${timestamp}000`,
  '-100000000',
  '1e10',
  '0x6553f100',
  '١٢٣٤٥٦٧٨٩٠',
])('the timestamp %j is refused', (value) =>
  expect(refuse({ timestamp: [value] })).toBe('timestamp malformed'),
)

test('the tolerance is inclusive, either way', () => {
  expect(refuse({ now: timestamp + 300 })).toBeNull()
  expect(refuse({ now: timestamp - 300 })).toBeNull()
  expect(refuse({ now: timestamp + 301 })).toBe('timestamp outside the tolerance')
  expect(refuse({ now: timestamp - 301 })).toBe('timestamp outside the tolerance')
})

test('a missing or doubled header is refused, although each value alone would do', () => {
  const ts = String(timestamp)
  expect(refuse({ timestamp: [] })).toBe('timestamp header missing or doubled')
  expect(refuse({ timestamp: [ts, ts] })).toBe('timestamp header missing or doubled')
  expect(refuse({ signature: [] })).toBe('signature header missing or doubled')
  expect(refuse({ signature: [first.signature, first.signature] })).toBe(
    'signature header missing or doubled',
  )
})

test('the timestamp is part of what is signed', () => {
  expect(refuse({ timestamp: [String(timestamp + 1)] })).toBe('no signature matches')
})
