import type { FollowUpEvent, FollowUpIntent, SumePayload } from '@sume-inbox/shared/follow-ups'
import type { ClaimedEvent } from '@sume-inbox/shared/ledger'

/** The claimed row as follow-ups see it. */
export const followUpEvent = (dedupeKey: string, row: ClaimedEvent): FollowUpEvent => ({
  dedupeKey,
  kind: row.kind,
  sumeId: row.sume_id,
  requestId: row.request_id,
  event: row.event,
  status: row.status,
  payload: parse(row.payload),
  raw: row.payload,
  deliveries: row.deliveries,
  source: row.source,
  firstSeen: row.first_seen,
  intent: intentOf(row),
})

function intentOf(row: ClaimedEvent): FollowUpIntent | null {
  const { intent_key: key, intent_path: path, intent_body: body } = row
  if (key === null || path === null || row.intent_created_at === null) return null
  return { key, path, body: objectIn(body), createdAt: row.intent_created_at }
}

/** Plain SQL may have stored anything; an event must not fail for it. */
function objectIn(text: string | null): FollowUpIntent['body'] {
  try {
    const value: unknown = JSON.parse(text ?? 'null')
    return typeof value === 'object' && !Array.isArray(value)
      ? (value as FollowUpIntent['body'])
      : null
  } catch {
    return null
  }
}

/** The parser's own message quotes the text, and the text may be a prompt. */
function parse(raw: string): SumePayload {
  try {
    return JSON.parse(raw) as SumePayload
  } catch {
    throw new Error('the payload is not JSON')
  }
}
