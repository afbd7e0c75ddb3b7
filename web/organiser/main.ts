// The organiser's pages, at /organiser: one document, a view for each address
// behind the #, and a cookie that no script can read.
import { readSignIn, signIn, signOut, type Organiser } from '@rowlock/client'
import { html, nothing, type TemplateResult } from 'lit'
import { customElement, state } from 'lit/decorators.js'
import { keyed } from 'lit/directives/keyed.js'
import { answered, client, Refusal, said, signedOut, when } from './client.ts'
import { field, tell, text, View } from './view.ts'
import './bookings.ts'
import './door.ts'
import './plans.ts'
import './show.ts'
import './shows.ts'

@customElement('rowlock-organiser')
export class OrganiserPages extends View {
  @state() private known: Organiser | null | undefined // undefined: not asked yet
  @state() private route: string[] = []

  override connectedCallback() {
    super.connectedCallback()
    const go = () => {
      this.route = location.hash.replace(/^#\/?/, '').split('/').filter(Boolean).map(decodeURIComponent)
      this.trouble = this.done = ''
    }
    window.addEventListener('hashchange', () => {
      go()
      void this.updateComplete.then(() => this.querySelector<HTMLElement>('main')?.focus())
      window.scrollTo(0, 0)
    })
    go()
    signedOut.addEventListener('over', () => {
      if (this.known) this.trouble = 'The session is over: sign in again.'
      this.known = null
    })
    // Much of what is shown is public: without asking, a session that is over
    // would only be noticed by what is missing.
    this.keep(60_000, async () => {
      if (this.known === null) return
      try {
        this.known = await answered(readSignIn({ client }))
      } catch (e) {
        if (this.known) return // the views say it
        this.known = null
        if (!(e instanceof Refusal) || e.status !== 401) this.trouble = said(e)
      }
    })
  }

  private signIn(e: SubmitEvent) {
    e.preventDefault()
    const form = e.target as HTMLFormElement
    const given = text(form, 'credential')
    void this.act(async () => {
      // Three parts with dots between them are a token; a key has none.
      const headers = given.split('.').length === 3 ? { Authorization: `Bearer ${given}` } : { 'X-API-Key': given }
      const known = await answered(signIn({ client, headers }))
      form.reset()
      this.known = known
      tell(`Signed in as ${known.name}.`)
    })
  }

  private leave() {
    void this.act(async () => {
      await answered(signOut({ client }))
      this.known = null
      return 'Signed out.'
    })
  }

  override render() {
    return html`
      <a class="skip" href="#content" @click=${(e: Event) => { e.preventDefault(); this.querySelector<HTMLElement>('main')?.focus() }}>To the content</a>
      <header class="top">
        <a class="brand" href="#/"><span class="mark" aria-hidden="true"><i></i><i></i><i class="on"></i><i></i></span> Rowlock <small>organiser</small></a>
        ${this.known ? this.menu(this.known) : nothing}
      </header>
      <main id="content" tabindex="-1">
        ${this.news()}
        ${this.known === undefined ? html`<p class="note">One moment …</p>` : this.known === null ? this.door() : this.view(this.known)}
      </main>`
  }

  private menu(who: Organiser) {
    const has = (...scopes: string[]) => scopes.some((s) => who.scopes.includes(s)) || who.scopes.includes('admin')
    const link = (to: string, name: string, first: string) =>
      html`<a href="#/${to}" aria-current=${(this.route[0] ?? 'shows') === first ? 'page' : nothing}>${name}</a>`
    return html`<nav aria-label="Organiser">
        ${link('', 'Shows', 'shows')}
        ${has('sales:read', 'reservations:staff', 'refunds') ? link('bookings', 'Bookings', 'bookings') : nothing}
        ${has('checkin') ? link('door', 'Door', 'door') : nothing}
        ${has('catalogue:write') ? link('plans', 'New show', 'plans') : nothing}
        ${has('ops') ? html`<a href="/riverui/">Jobs</a>` : nothing}
      </nav>
      <p class="who"><span>${who.name}${who.expiresAt ? html`<small> until ${when(who.expiresAt)}</small>` : nothing}</span>
        <button type="button" ?disabled=${this.busy} @click=${this.leave}>Sign out</button></p>`
  }

  private door(): TemplateResult {
    return html`<section class="signin">
      <h1>Sign in</h1>
      <p>With an API key, or a token of your identity provider. It is sent once; then this browser is signed in for twelve hours, or until the token ends, the key is revoked, or you sign out.</p>
      <form @submit=${this.signIn}>
        ${field('credential', 'API key or token', html`<input id="credential" name="credential" type="password" required autocomplete="off" spellcheck="false" aria-describedby="credential-hint" />`,
          'rowlock apikey create makes a key; its scopes say what you may do here.')}
        <p><button class="primary" ?disabled=${this.busy}>Sign in</button></p>
      </form>
    </section>`
  }

  private view(who: Organiser): TemplateResult {
    const [noun, id] = this.route
    switch (noun) {
      case undefined:
        return html`<organiser-shows .who=${who}></organiser-shows>`
      case 'shows':
        return id ? html`${keyed(id, html`<organiser-show .who=${who} .show=${id}></organiser-show>`)}` : html`<organiser-shows .who=${who}></organiser-shows>`
      case 'bookings':
        return html`<organiser-bookings .who=${who} .booking=${id && id !== 'of' ? id : ''} .show=${id === 'of' ? this.route[2] ?? '' : ''}></organiser-bookings>`
      case 'door':
        return html`<organiser-door .who=${who} .show=${id ?? ''}></organiser-door>`
      case 'plans':
        return html`<organiser-plans .who=${who}></organiser-plans>`
    }
    return html`<h1>Nothing here</h1><p><a href="#/">To the shows</a></p>`
  }
}
