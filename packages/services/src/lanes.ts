/** Where MySQL and Redis come from. */
export type Lane = 'url' | 'containers' | 'local'

const LANES: readonly Lane[] = ['url', 'containers', 'local']

/**
 * Which lanes to try, in order. `SERVICES` forces one.
 *
 * @param ownServers passes the lane `url` over: its servers belong to others.
 * @throws when SERVICES names no lane.
 */
export function chooseLanes(
  env: Readonly<Record<string, string | undefined>>,
  ownServers: boolean,
): { lanes: readonly Lane[]; forced: boolean } {
  const wanted = env['SERVICES']
  const usable = ownServers ? LANES.filter((lane) => lane !== 'url') : LANES
  if (wanted === undefined || wanted === '') {
    const named = env['DATABASE_URL'] && env['REDIS_URL']
    return { lanes: named ? usable : usable.filter((lane) => lane !== 'url'), forced: false }
  }
  const lane = LANES.find((known) => known === wanted)
  if (lane === undefined) throw new Error(`SERVICES must be one of ${LANES.join(', ')}`)
  if (!usable.includes(lane)) return { lanes: usable, forced: false }
  return { lanes: [lane], forced: true }
}
