export type { Envelope, Kind, ParsedBody, Status, Unreadable } from './envelope.ts'
export { isTooDeep } from './nesting.ts'
export { isUsableId, parseEnvelope, runKey } from './parse-envelope.ts'
