import { signatureVectors } from '@sume-inbox/testing'
import { expect, test } from 'vitest'
import { sign } from './sign.ts'

test.each(signatureVectors.vectors)('signs as the vector $name', (vector) => {
  const body = Buffer.from(vector.body_base64, 'base64')
  expect(sign(body, signatureVectors.secret, signatureVectors.timestamp)).toBe(vector.signature)
})
