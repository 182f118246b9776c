import { isIPv4 } from 'node:net'

/** Whether a host name or address means this machine and no other. */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[(.*)\]$/, '$1')
  return name === 'localhost' || name === '::1' || (isIPv4(name) && name.startsWith('127.'))
}
