// What every view of the organiser's pages shares: it lies in the document, not
// in a shadow, so that one style sheet and the page's own headings serve; it
// says what it does to screen readers; and it asks again while it is looked at.
import { html, LitElement, nothing, type TemplateResult } from 'lit'
import { property, state } from 'lit/decorators.js'
import type { Organiser } from '@rowlock/client'
import { said } from './client.ts'

/** Says something to who cannot see it. */
export function tell(words: string) {
  const teller = document.querySelector('#teller')
  if (!teller) return
  teller.textContent = ''
  setTimeout(() => (teller.textContent = words), 50)
}

export class View extends LitElement {
  @property({ attribute: false }) who!: Organiser
  @state() protected trouble = ''
  @state() protected done = ''
  @state() protected busy = false
  private timer: ReturnType<typeof setTimeout> | undefined
  private live = false

  protected override createRenderRoot() {
    return this
  }

  override connectedCallback() {
    super.connectedCallback()
    this.live = true
  }

  override disconnectedCallback() {
    super.disconnectedCallback()
    this.live = false
    clearTimeout(this.timer)
  }

  protected may(scope: string): boolean {
    return this.who.scopes.includes(scope) || this.who.scopes.includes('admin')
  }

  /** Does something that takes a while, one at a time, and shows what came of it. */
  protected async act(what: () => Promise<string | void>) {
    if (this.busy) return
    this.busy = true
    this.trouble = this.done = ''
    try {
      this.done = (await what()) ?? ''
      if (this.done) tell(this.done)
    } catch (e) {
      this.trouble = said(e)
    } finally {
      this.busy = false
    }
  }

  /** Asks now, and again every so often while somebody looks. */
  protected keep(millis: number, ask: () => Promise<void>) {
    const round = async () => {
      if (document.visibilityState !== 'hidden') {
        try {
          await ask()
        } catch (e) {
          this.trouble ||= said(e)
        }
      }
      if (this.live) this.timer = setTimeout(round, millis)
    }
    void round()
  }

  /** What went wrong or well, above everything else. */
  protected news(): TemplateResult {
    return html`<p class="trouble" role="alert" ?hidden=${!this.trouble}>${this.trouble}</p>
      <p class="done" role="status" ?hidden=${!this.done}>${this.done}</p>`
  }
}

export const badge = (status: string) => html`<span class="badge ${status}">${status.replaceAll('_', ' ')}</span>`

/** A field of a form with its label. */
export function field(name: string, label: string, input: TemplateResult, hint: string | typeof nothing = nothing) {
  return html`<p class="field"><label for=${name}>${label}</label>${input}${hint === nothing ? nothing : html`<small id="${name}-hint">${hint}</small>`}</p>`
}

export const text = (form: HTMLFormElement, name: string): string => String(new FormData(form).get(name) ?? '').trim()
