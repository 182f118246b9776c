import { expect, test } from 'vitest'
import { isSameOrigin } from './same-origin.ts'

const host = 'console.example'
const none = { site: undefined, origin: undefined, host }

test('Sec-Fetch-Site alone decides where a browser sends it', () => {
  expect(isSameOrigin({ ...none, site: 'same-origin' })).toBe(true)
  for (const site of ['same-site', 'cross-site', 'none', '', 'same-origin, cross-site'])
    expect(isSameOrigin({ ...none, site, origin: 'https://console.example' }), site).toBe(false)
})

test('a proxy that asks for us under another name is no hindrance to it', () => {
  const proxied = { site: 'same-origin', origin: 'https://console.example', host: '10.0.0.7:8081' }
  expect(isSameOrigin(proxied)).toBe(true)
})

test('without it the Origin must name the host that was asked', () => {
  for (const origin of [
    'https://console.example',
    'http://console.example',
    'https://CONSOLE.example',
  ])
    expect(isSameOrigin({ ...none, origin }), origin).toBe(true)
  expect(
    isSameOrigin({ ...none, origin: 'https://console.example', host: 'console.example:443' }),
  ).toBe(true)
  for (const origin of [
    'https://console.example.evil',
    'https://evil/console.example',
    'https://console.example:8443',
    'null',
    '',
    'console.example',
  ])
    expect(isSameOrigin({ ...none, origin }), origin).toBe(false)
})

test('a request that says nothing is nobody’s', () => {
  expect(isSameOrigin(none)).toBe(false)
})
