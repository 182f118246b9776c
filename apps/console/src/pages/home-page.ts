import type { Role } from '../login/passwords.ts'
import { type Html, html } from './html.ts'
import { page } from './layout.ts'

/** A part of the console, as the start page offers it. */
interface Room {
  readonly path: string
  readonly title: string
  readonly about: string
}

/** The ledger's pages join here. */
const ROOMS: readonly Room[] = [
  {
    path: 'queues',
    title: 'Queue',
    about: 'What waits, runs, is delayed or has failed. Operators retry dead events here.',
  },
]

const SAYS: Record<Role, string> = {
  operator: 'operator: may look and change',
  viewer: 'viewer: may look',
}

/** The page after the login. @param canLogOut false where nobody had to log in. */
export const homePage = (basePath: string, role: Role, canLogOut: boolean): Html =>
  page(
    'Console',
    html`<header>
        <strong>sume-inbox console</strong>
        <span class="soft">${SAYS[role]}</span>
        ${canLogOut ? html`<form method="post" action="${basePath}logout"><button>Log out</button></form>` : ''}
      </header>
      <main>
        <ul>
          ${ROOMS.map(
            ({ path, title, about }) =>
              html`<li>
                <a href="${basePath}${path}"><strong>${title}</strong><span>${about}</span></a>
              </li>`,
          )}
        </ul>
      </main>`,
  )
