import { defineFollowUps } from '@sume-inbox/shared/follow-ups'

// The most specific entry wins. Returning is done, throwing is "again later".
export default defineFollowUps({
  // At least once: after a crash it may run again.
  'job.completed': (event, ctx) => {
    const artifacts = event.payload.result?.artifacts?.length ?? 0
    ctx.log.info({ artifacts }, 'a job is ready')
  },

  // Exactly once: what `tx` writes is committed together with `done`, or not at all.
  'job.failed': async (event, ctx) =>
    ctx.complete(async (tx) => {
      // For example: await tx.execute('UPDATE orders SET state = ? WHERE sume_job = ?', ['failed', event.sumeId])
      await tx.query('SELECT 1')
      ctx.log.warn({ code: event.payload.error?.code }, 'a job has failed')
    }),

  'run.*': (event, ctx) => {
    ctx.log.info({ status: event.status }, 'a run has ended')
  },

  // Without this entry, an event of another name would go dead, for a person to look at.
  '*': (_event, ctx) => ctx.discard('nothing here knows what to do about this event'),
})
