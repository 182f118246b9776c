import { type Html, html } from './html.ts'
import { page } from './layout.ts'

/**
 * The login form.
 *
 * @param to the path to go to after it.
 * @param problem why the last try was refused.
 */
export const loginPage = (basePath: string, to: string, problem?: string): Html =>
  page(
    'Log in',
    html`<main class="narrow">
      <h1>sume-inbox console</h1>
      ${problem === undefined ? '' : html`<p class="problem" role="alert">${problem}</p>`}
      <form method="post" action="${basePath}login">
        <input type="hidden" name="to" value="${to}" />
        <label
          >Password
          <input type="password" name="password" autocomplete="current-password" required autofocus
        /></label>
        <button>Log in</button>
      </form>
    </main>`,
  )
