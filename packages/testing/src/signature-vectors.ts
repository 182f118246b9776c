import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Signatures made independently of this project, with Python's hmac. */
export interface SignatureVectors {
  readonly secret: string
  readonly previous_secret: string
  readonly timestamp: number
  readonly vectors: readonly {
    readonly name: string
    readonly body_base64: string
    readonly signature: string
    readonly signature_with_previous_secret: string
  }[]
}

export const signatureVectors = JSON.parse(
  readFileSync(join(import.meta.dirname, 'signatures.json'), 'utf8'),
) as SignatureVectors
