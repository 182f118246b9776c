import { z } from 'zod'

const milliseconds = z.number().int().min(0).max(3_600_000)

/** What a submit's extra field `sandbox` may ask for. */
export const planSchema = z.strictObject({
  outcome: z
    .enum(['completed', 'failed', 'content_policy', 'canceled', 'skipped'])
    .default('completed'),
  /** How long the job takes. */
  run_ms: milliseconds.default(200),
  /**
   * `drop`: no webhook at all. `duplicate`: it is sent twice at once. `reorder`: it waits until another
   * job's has been sent (five seconds at most). `delay`: it waits for `webhook_delay_ms`.
   */
  webhook: z.enum(['deliver', 'drop', 'duplicate', 'reorder', 'delay']).default('deliver'),
  webhook_delay_ms: milliseconds.default(1000),
})

export type Plan = z.infer<typeof planSchema>
