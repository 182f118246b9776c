import { Gauge } from 'prom-client'
import type { Restorer } from '../queues/index.ts'
import type { Events } from './events.ts'
import type { Metrics } from './metrics.ts'

/** Adds how many jobs the queue holds, by their state there. Absent while Redis cannot be asked. */
export function queueGauges(
  metrics: Metrics,
  restorer: Pick<Restorer, 'count'>,
  events: Events,
): void {
  void new Gauge({
    name: 'sume_queue_jobs',
    help: 'Jobs in the queue, by state.',
    labelNames: ['state'],
    registers: [metrics],
    async collect() {
      const counts = await restorer.count().catch((error: unknown) => {
        events.emit('background:error', { where: 'metrics', error: error as Error })
        return null
      })
      this.reset()
      for (const [state, jobs] of Object.entries(counts ?? {})) this.set({ state }, jobs)
    },
  })
}
