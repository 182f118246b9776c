export type { Envelope, Kind, ParsedBody, Status, Unreadable } from './envelope.ts'
export { isUsableId, parseEnvelope, runKey } from './parse-envelope.ts'
