import { parseEnvelope } from '@sume-inbox/shared/envelope'

/** What a body is to the receiver: for people, and for programs that go on with its ids. */
export function aboutBody(body: Buffer): { text: string; fields: Record<string, unknown> } {
  const parsed = parseEnvelope(body)
  if (!parsed.readable) {
    return {
      text: `a body that is no event (${parsed.reason})`,
      fields: { event: null, unreadable: parsed.reason },
    }
  }
  const { event, status, dedupeKey, sumeId, requestId } = parsed.envelope
  return { text: `${event} ${dedupeKey}`, fields: { event, status, dedupeKey, sumeId, requestId } }
}
