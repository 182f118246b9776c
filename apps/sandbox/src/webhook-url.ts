/**
 * Public HTTPS, as Sume asks for; and plain HTTP to this machine, or to a host that the settings name, so
 * that a receiver can be tried without TLS.
 */
export function isWebhookUrl(value: string, httpHosts: readonly string[]): boolean {
  const url = URL.parse(value)
  if (url === null) return false
  if (url.protocol === 'https:') return true
  if (url.protocol !== 'http:') return false
  return (
    /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(url.hostname) || httpHosts.includes(url.hostname)
  )
}
