import { createHash } from 'node:crypto'
import { Html, html } from './html.ts'

const STYLE = `
:root { color-scheme: light dark; --line: light-dark(#d5d9e0, #3a4150); --soft: light-dark(#5b6472, #9aa5b5) }
* { box-sizing: border-box }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif }
header { display: flex; gap: 1rem; align-items: center; padding: .75rem 1.5rem; border-bottom: 1px solid var(--line) }
header strong { margin-right: auto }
main { max-width: 60rem; margin: 0 auto; padding: 2rem 1.5rem }
main.narrow { max-width: 24rem; padding-top: 15vh }
h1 { font-size: 1.4rem; margin: 0 0 1rem }
ul { list-style: none; padding: 0; display: grid; gap: 1rem; grid-template-columns: repeat(auto-fill, minmax(17rem, 1fr)) }
li a { display: block; padding: 1rem; border: 1px solid var(--line); border-radius: .5rem; color: inherit; text-decoration: none }
li a:hover { border-color: currentColor }
li strong { display: block }
li span, .soft { color: var(--soft) }
label { display: block; margin-bottom: 1rem }
input { display: block; width: 100%; font: inherit; padding: .5rem .6rem; margin-top: .25rem; border: 1px solid var(--line); border-radius: .4rem }
button { font: inherit; padding: .4rem 1rem; border: 1px solid var(--line); border-radius: .4rem; cursor: pointer }
.problem { padding: .6rem .8rem; border: 1px solid #c2410c; border-radius: .4rem }
`

/** What the pages' content security policy says of their one style element. */
export const STYLE_HASH = `'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`

const style = new Html(`<style>${STYLE}</style>`)

/** A whole page. */
export const page = (title: string, body: Html): Html =>
  html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex" />
        <title>${title} – sume-inbox</title>
        ${style}
      </head>
      <body>
        ${body}
      </body>
    </html> `
