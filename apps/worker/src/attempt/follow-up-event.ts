import type { FollowUpEvent, SumePayload } from '@sume-inbox/shared/follow-ups'
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
  intent: null,
})

/** The parser's own message quotes the text, and the text may be a prompt. */
function parse(raw: string): SumePayload {
  try {
    return JSON.parse(raw) as SumePayload
  } catch {
    throw new Error('the payload is not JSON')
  }
}
