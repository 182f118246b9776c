/** A piece of HTML that is safe to show as it is. */
export class Html {
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  toString(): string {
    return this.#text
  }
}

type Value = string | number | Html | readonly Html[]

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** A template whose values are escaped, unless they are HTML already. */
export function html(strings: TemplateStringsArray, ...values: readonly Value[]): Html {
  return new Html(
    strings.reduce((text, string, i) => `${text}${shown(values[i - 1] ?? '')}${string}`),
  )
}

function shown(value: Value): string {
  if (value instanceof Html) return value.toString()
  if (typeof value === 'object') return value.map((one) => one.toString()).join('')
  return String(value).replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? character)
}
