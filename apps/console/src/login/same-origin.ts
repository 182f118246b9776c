/** What a browser says about where a request comes from. */
export interface Provenance {
  readonly site: string | undefined
  readonly origin: string | undefined
  /** The host that was asked, as the browser named it. */
  readonly host: string
}

/**
 * Whether a change was asked for by one of our own pages. Browsers say so in one of two headers, which no
 * page can forge; a request with neither is refused, because then nobody vouches for it.
 */
export function isSameOrigin({ site, origin, host }: Provenance): boolean {
  // Sent over HTTPS and to this machine; knows nothing of the proxies on the way.
  if (site !== undefined) return site === 'same-origin'
  if (origin === undefined) return false
  const from = URL.parse(origin)
  // Through the same parser, so that a default port counts as none.
  return from !== null && URL.parse(`${from.protocol}//${host}`)?.host === from.host
}

/** The methods that change nothing. */
export const isLook = (method: string): boolean => method === 'GET' || method === 'HEAD'
