/** Public HTTPS, as Sume asks for; and plain HTTP to this machine, so that a receiver can be tried without TLS. */
export function isWebhookUrl(value: string): boolean {
  const url = URL.parse(value)
  if (url === null) return false
  if (url.protocol === 'https:') return true
  return url.protocol === 'http:' && /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(url.hostname)
}
