/** One thing that was checked. A `warn` or `fail` says what to do. */
export type Finding =
  | { readonly level: 'ok'; readonly what: string }
  | { readonly level: 'warn' | 'fail'; readonly what: string; readonly fix: string }

export const ok = (what: string): Finding => ({ level: 'ok', what })
export const warn = (what: string, fix: string): Finding => ({ level: 'warn', what, fix })
export const fail = (what: string, fix: string): Finding => ({ level: 'fail', what, fix })
