// What every view of the organiser's pages shares: it lies in the document, not
// in a shadow, so that one style sheet and the page's own headings serve; it
// says what it does to screen readers; and it asks again while it is looked at.
import { html, LitElement, nothing, type PropertyValues, type TemplateResult } from 'lit'
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
  @state() private away = '' // why nothing new can be had; over as soon as something can
  private timer: ReturnType<typeof setTimeout> | undefined
  private live = false
  private turn = 0
  private focused: Element | null = null

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

  protected override willUpdate(_: PropertyValues) {
    this.focused = this.contains(document.activeElement) ? document.activeElement : null
  }

  protected override updated(_: PropertyValues) {
    // What had the keyboard may be gone because of news, not only of what was pressed.
    if (this.focused?.isConnected === false && !this.busy && document.activeElement === document.body) {
      document.querySelector<HTMLElement>('main')?.focus()
    }
    const heading = document.querySelector('main h1')?.textContent?.replace(/\s+/g, ' ').trim()
    document.title = `${heading || 'Organiser'} – Rowlock`
  }

  protected may(scope: string): boolean {
    return this.who.scopes.includes(scope) || this.who.scopes.includes('admin')
  }

  /** Does something that takes a while, one at a time, and shows what came of it. */
  protected async act(what: () => Promise<string | void>) {
    if (this.busy) return
    const from = document.activeElement
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
    await this.updateComplete
    // A button that waits loses the keyboard, and what was pressed may be gone.
    if (!this.isConnected || document.activeElement !== document.body) return
    const back = from instanceof HTMLElement && from.isConnected && from !== document.body && !from.matches(':disabled') ? from : undefined
    const news = this.querySelector<HTMLElement>('.trouble:not([hidden]), .done:not([hidden])')
    ;(back ?? news ?? document.querySelector<HTMLElement>('main'))?.focus()
  }

  /** Asks for what is to be shown, and shows it, unless something else was asked for since. */
  protected async load<T>(ask: () => Promise<T>, show: (got: T) => void) {
    const turn = ++this.turn
    this.trouble = ''
    try {
      const got = await ask()
      if (turn === this.turn) show(got)
    } catch (e) {
      if (turn === this.turn) this.trouble = said(e)
    }
  }

  /** Asks now, and again every so often while somebody looks. */
  protected keep(millis: number, ask: () => Promise<void>) {
    const round = async () => {
      if (document.visibilityState !== 'hidden') await this.fresh(ask)
      if (this.live) this.timer = setTimeout(round, millis)
    }
    void round()
  }

  /** Asks for what is new, and says so while it cannot be had. */
  protected async fresh(ask: () => Promise<void>) {
    try {
      await ask()
      this.away = ''
    } catch (e) {
      this.away = said(e)
    }
  }

  /** What went wrong or well, above everything else. */
  protected news(): TemplateResult {
    const trouble = this.trouble || this.away
    return html`<p class="trouble" role="alert" tabindex="-1" ?hidden=${!trouble}>${trouble}</p>
      <p class="done" role="status" tabindex="-1" ?hidden=${!this.done}>${this.done}</p>`
  }
}

export const badge = (status: string) => html`<span class="badge ${status}">${status.replaceAll('_', ' ')}</span>`

/** A field of a form with its label. */
export function field(name: string, label: string, input: TemplateResult, hint: string | typeof nothing = nothing) {
  return html`<p class="field"><label for=${name}>${label}</label>${input}${hint === nothing ? nothing : html`<small id="${name}-hint">${hint}</small>`}</p>`
}

export const text = (form: HTMLFormElement, name: string): string => String(new FormData(form).get(name) ?? '').trim()
