import { defineFollowUps } from '@sume-inbox/shared/follow-ups'

/** The demo's follow-ups. A team's own module looks just like this: see the README. */
export default defineFollowUps({
  'job.completed': async (event, ctx) => {
    const files = event.payload.result?.artifacts?.length ?? 0
    ctx.log.info({ files }, 'the application takes the files over')
  },

  // The first two attempts fail, so that the demo shows a retry that the queue makes by itself.
  'job.failed': async (event, ctx) => {
    if (ctx.attempt < 3) throw new Error('the mail server is away')
    ctx.log.info({ code: event.payload.error?.code }, 'the customer is told')
  },

  'run.*': async (event, ctx) => {
    ctx.log.info({ runId: event.sumeId }, 'the run is taken over')
  },

  '*': async (_event, ctx) => ctx.discard('the demo knows no such event'),
})
