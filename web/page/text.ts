// The page's language, and its address.
import { languages, stringsOf, type Strings } from '../strings/index.ts'

const at = 'rowlock-language'

function chosen(): Strings {
  const kept = localStorage.getItem(at)
  if (kept && languages[kept]) return languages[kept]
  for (const tag of navigator.languages) if (languages[tag.split('-')[0]!]) return stringsOf(tag)
  return languages['en']!
}

export let t: Strings = chosen()

function apply() {
  document.documentElement.lang = t.tag
  document.documentElement.dir = t.dir
}
apply()

export function otherLanguage() {
  const tags = Object.keys(languages)
  const tag = tags[(tags.indexOf(t.tag) + 1) % tags.length]!
  localStorage.setItem(at, tag)
  t = languages[tag]!
  apply()
}

/** Name of a ticket type, kind and the like, where there is one. */
export const named = (names: Record<string, string>, id: string) => names[id] ?? id

/** Goes to an address of the page, such as ?show=…, without loading it. */
export function go(search: string) {
  history.pushState(null, '', search || '/')
  dispatchEvent(new PopStateEvent('popstate'))
}
