package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/uuid"

	"github.com/rowlock/rowlock/internal/boxoffice"
	"github.com/rowlock/rowlock/internal/fixture"
	"github.com/rowlock/rowlock/internal/pgtest"
)

// desk is a browser with the organiser's pages in it.
type desk struct {
	t    *testing.T
	ctx  context.Context
	base string
}

// openDesk starts a browser. A test that fails leaves a picture of what it saw
// behind, in the folder that SCREENSHOTS names.
func openDesk(t *testing.T, base string) *desk {
	t.Helper()
	chromium := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			chromium = path
			break
		}
	}
	if chromium == "" {
		t.Skip("there is no Chromium here")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*limit) // t.Context ends before the picture is taken
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromium), chromedp.NoSandbox, chromedp.WindowSize(1280, 900),
		chromedp.Flag("use-fake-device-for-media-stream", true), chromedp.Flag("use-fake-ui-for-media-stream", true))...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	d := &desk{t, ctx, base}
	chromedp.ListenTarget(ctx, func(event any) {
		if _, ok := event.(*page.EventJavascriptDialogOpening); ok { // are you sure?
			go chromedp.Run(ctx, page.HandleJavaScriptDialog(true))
		}
	})
	t.Cleanup(func() {
		if t.Failed() {
			d.picture(strings.ReplaceAll(t.Name(), "/", "-"))
		}
	})
	return d
}

func (d *desk) picture(name string) {
	dir := os.Getenv("SCREENSHOTS")
	if dir == "" {
		return
	}
	var png []byte
	if err := chromedp.Run(d.ctx, chromedp.FullScreenshot(&png, 100)); err != nil {
		d.t.Logf("no picture: %v", err)
		return
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
		d.t.Log(err)
	}
}

func (d *desk) do(actions ...chromedp.Action) {
	d.t.Helper()
	if err := chromedp.Run(d.ctx, actions...); err != nil {
		d.t.Fatal(err)
	}
}

// go to the view behind the #.
func (d *desk) visit(view string) {
	d.t.Helper()
	d.do(chromedp.Navigate(d.base+"/organiser#/"+view), chromedp.WaitVisible("h1", chromedp.ByQuery))
}

// reads waits until the page says something.
func (d *desk) reads(text string) {
	d.t.Helper()
	d.truth(fmt.Sprintf("document.body.innerText.includes(%q)", text))
}

// truth waits until an expression is true in the page.
func (d *desk) truth(expression string) {
	d.t.Helper()
	if err := chromedp.Run(d.ctx, chromedp.Poll(expression, nil, chromedp.WithPollingTimeout(limit/2))); err != nil {
		var text string
		_ = chromedp.Run(d.ctx, chromedp.Evaluate("document.body.innerText", &text))
		d.t.Fatalf("it never came about: %s: %v\n%s", expression, err, text)
	}
}

// types fills in a field as fingers do.
func (d *desk) types(field, text string) {
	d.t.Helper()
	d.do(chromedp.WaitVisible(field, chromedp.ByQuery), chromedp.Focus(field, chromedp.ByQuery), chromedp.SendKeys(field, text, chromedp.ByQuery))
}

// press clicks the button or link with this name, once it can be.
func (d *desk) press(name string) {
	d.t.Helper()
	d.truth(fmt.Sprintf(`(() => {
		const all = [...document.querySelectorAll('button, a, summary')]
		const one = all.find((e) => e.textContent.trim() === %q && !e.disabled && e.offsetParent !== null && (!document.querySelector('dialog[open]') || e.closest('dialog')))
		if (one) one.click()
		return Boolean(one)
	})()`, name))
}

// awaited waits for a promise.
func awaited(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }

// fine looks for faults of accessibility, with axe-core where it is installed.
func (d *desk) fine() {
	d.t.Helper()
	axe, err := os.ReadFile("../../web/node_modules/axe-core/axe.min.js")
	if err != nil {
		d.t.Log("axe-core is not installed: make web")
		return
	}
	var faults []string
	d.do(chromedp.Evaluate(string(axe)+`;null`, nil), chromedp.Evaluate(
		`axe.run().then((r) => r.violations.map((v) => v.id + ' (' + v.impact + '): ' + v.nodes.map((n) => n.target.join(' ')).join(', ')))`, &faults, awaited))
	for _, fault := range faults {
		d.t.Errorf("%s", fault)
	}
}

func TestOrganisersSellThroughTheirPages(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s := fixture.On(t, db)
	made := fixture.Show(t, s, fixture.Options{Seats: 12})
	const key = "the-organisers-own-key"
	if err := s.EnsureAPIKey(t.Context(), key, "organiser", []boxoffice.Scope{boxoffice.ScopeAdmin}); err != nil {
		t.Fatal(err)
	}
	p := start(t, with(production(db), "ENV", "development", "AUTH_MODE", "mock"), "serve").ready()
	d := openDesk(t, p.base)

	// A key that is wrong, then one that is right, by keyboard alone.
	d.do(chromedp.Navigate(p.base + "/organiser"))
	d.types("#credential", "nonsense"+kb.Enter)
	d.reads("unknown, revoked or expired")
	d.fine()
	d.do(chromedp.Evaluate(`document.querySelector("#credential").value = ""`, nil))
	d.types("#credential", key+kb.Enter)
	d.reads("An Evening of Locks")
	d.fine()
	var cookies string
	d.do(chromedp.Evaluate("document.cookie + JSON.stringify(localStorage) + JSON.stringify(sessionStorage)", &cookies))
	if strings.Contains(cookies, "rowlock-organiser") || strings.Contains(cookies, key) {
		t.Errorf("a script can read %q", cookies)
	}

	// What a buyer does is seen without anything being pressed.
	d.visit("shows/" + made.ID.String())
	d.reads("Places")
	d.truth(`/Held\s*0/.test(document.body.innerText)`)
	body, header := hold(made.ID, made.Seats[11].Label)
	if code, answer := p.send(http.MethodPost, "/api/v1/reservations", strings.Replace(body, `"ttlSeconds":1`, `"ttlSeconds":900`, 1), header); code != http.StatusCreated {
		t.Fatalf("%d %s", code, answer)
	}
	d.truth(`/Held\s*1/.test(document.body.innerText)`)

	// Two seats are kept off sale, and one of them is sold from there.
	d.chooseByKeyboard(2)
	d.reads("2 chosen")
	d.types("#reason", "camera platform")
	d.press("Block")
	d.reads("2 seats are off sale")
	d.truth(`/Blocked\s*2/.test(document.body.innerText)`)
	d.fine()
	d.chooseByKeyboard(1)
	d.reads("1 chosen")
	d.types("#reference", "till 3")
	d.types("#buyer", "Ada Lovelace")
	d.types("#email", "ada@example.org")
	d.truth(`(() => { const b = [...document.querySelectorAll('button')].find((b) => b.textContent.startsWith('Sell for')); if (b && !b.disabled) b.click(); return Boolean(b) })()`)
	d.reads("Story")
	d.reads("Tickets issued")
	d.fine()

	// At the door, once.
	code := d.ticketCode(p, key)
	d.visit("door/" + made.ID.String())
	d.types("#gate", "north")
	d.types("#code", strings.ToLower(code)+kb.Enter)
	d.reads("Let in")
	d.types("#code", code+kb.Enter)
	d.reads("Was here before")
	d.types("#code", "nonsense"+kb.Enter)
	d.reads("No ticket of ours")
	d.reads("1 of 1 are in")
	d.press("Use the camera")
	d.truth(`document.querySelector('video')?.videoWidth > 0`)
	d.fine()
	d.press("Stop the camera")
	d.truth(`!document.querySelector('video')`)

	// Found by name, and given back.
	d.visit("bookings")
	d.types("#q", "lovelace"+kb.Enter)
	d.reads("1 found")
	d.fine()
	d.do(chromedp.Click("tbody a", chromedp.ByQuery))
	d.reads("Admitted at the door")
	d.press("Cancel and refund all")
	d.reads("1 places are free again")
	d.reads("Tickets void")
	d.fine()

	// Paused, and cancelled, which asks first.
	d.visit("shows/" + made.ID.String())
	d.press("Pause sales")
	d.reads("Sales are paused")
	d.press("Resume sales")
	d.reads("on sale again")
	d.press("Cancel show …")
	d.fine()
	d.press("Keep it")
	d.truth(`!document.querySelector('dialog[open]')`)
	d.press("Cancel show …")
	d.press("Cancel the show")
	d.reads("buyers are being paid back")

	// River UI takes the same browser, until it signs out.
	d.do(chromedp.Navigate(p.base + "/riverui/"))
	d.truth(`document.title.includes('River')`)
	d.visit("")
	d.press("Sign out")
	d.truth(`Boolean(document.querySelector('#credential'))`)
	var status int
	d.do(chromedp.Evaluate(`fetch('/api/v1/changes').then((r) => r.status)`, &status, awaited))
	if status != http.StatusUnauthorized {
		t.Errorf("signed out: %d", status)
	}
	p.terminate()
	p.wait()
}

// chooseByKeyboard chooses the first n seats in the map's list.
func (d *desk) chooseByKeyboard(n int) {
	d.t.Helper()
	d.truth(`(() => {
		const root = document.querySelector('rowlock-map')?.shadowRoot
		const list = [...(root?.querySelectorAll('button') ?? [])].find((b) => b.textContent.trim() === 'List')
		if (list?.getAttribute('aria-pressed') === 'false') list.click()
		const cell = root?.querySelector('[role=gridcell]')
		cell?.focus()
		return Boolean(cell) && root.activeElement === cell
	})()`)
	for i := range n {
		if i > 0 {
			d.do(chromedp.KeyEvent(kb.ArrowRight))
		}
		d.do(chromedp.KeyEvent(" "))
	}
}

// ticketCode is the code of the only ticket that Ada has.
func (d *desk) ticketCode(p *process, key string) string {
	d.t.Helper()
	_, answer := p.send(http.MethodGet, "/api/v1/bookings?q=lovelace", "", map[string]string{"X-API-Key": key})
	var found struct {
		Bookings []struct{ Tickets []struct{ Code string } }
	}
	if err := json.Unmarshal([]byte(answer), &found); err != nil || len(found.Bookings) != 1 || len(found.Bookings[0].Tickets) != 1 {
		d.t.Fatalf("%v: %s", err, answer)
	}
	return found.Bookings[0].Tickets[0].Code
}

func TestAPlansProblemsAreShownOnItsMapAndAShowIsMadeFromIt(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s := fixture.On(t, db)
	const key = "the-organisers-own-key"
	if err := s.EnsureAPIKey(t.Context(), key, "organiser", []boxoffice.Scope{boxoffice.ScopeCatalogueWrite}); err != nil {
		t.Fatal(err)
	}
	p := start(t, with(production(db), "ENV", "development"), "serve", "--jobs=false").ready()
	d := openDesk(t, p.base)
	bad, good := filepath.Join(t.TempDir(), "bad.csv"), filepath.Join(t.TempDir(), "good.csv")
	for path, lines := range map[string]string{
		bad:  "S,A,1,Front,0,0\nS,A,1,Front,20,0\nS,B,1,,0,20\n",
		good: "S,A,1,Front,0,0\nS,A,2,Front,20,0\nS,B,1,Back,0,20\n",
	} {
		if err := os.WriteFile(path, []byte("section,row,seat,category,x,y\n"+lines), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d.do(chromedp.Navigate(p.base + "/organiser"))
	d.types("#credential", key+kb.Enter)
	d.reads("There are none")
	d.visit("plans")
	d.press("Add a venue")
	d.types("#venue-name", "Odeon")
	d.types("#city", "Wien")
	d.types("#country", "at")
	d.do(chromedp.SetValue("#zone", "Europe/Vienna", chromedp.ByQuery))
	d.press("Add venue")
	d.types("#hall-name", "Saal")
	d.press("Add hall")
	d.do(chromedp.SetUploadFiles("#file", []string{bad}, chromedp.ByQuery))
	d.reads("2 problems")
	d.reads("is here again; it was first at line 2")
	d.truth(`document.querySelectorAll('.problems button').length === 2 && [...document.querySelectorAll('button')].find((b) => b.textContent === 'Import this plan').disabled`)
	// A problem that is clicked on the map is marked in the list.
	d.truth(`(() => {
		const canvas = document.querySelector('.plan canvas'), box = canvas.getBoundingClientRect()
		for (let x = 0; x < box.width; x += 5) for (let y = 0; y < box.height; y += 5) {
			canvas.dispatchEvent(new MouseEvent('click', { clientX: box.left + x, clientY: box.top + y, bubbles: true }))
			if (document.querySelector('.problems .at')) return true
		}
		return Boolean(document.querySelector('.problems .at'))
	})()`)
	d.fine()
	d.do(chromedp.SetUploadFiles("#file", []string{good}, chromedp.ByQuery))
	d.truth(`[...document.querySelectorAll('button')].some((b) => b.textContent === 'Import this plan' && !b.disabled)`)
	d.press("Import this plan")
	d.types("#title", "Faust")
	d.do(chromedp.SetValue("#starts", "2030-07-01T19:30", chromedp.ByQuery))
	d.types("#price-0", "40,50")
	d.types("#price-1", "25")
	d.fine()
	d.press("Create show")
	d.reads("Faust")
	d.truth(`location.hash.startsWith('#/shows/')`)
	var hash string
	d.do(chromedp.Evaluate(`location.hash.slice(8)`, &hash))
	show, err := uuid.Parse(hash)
	if err != nil {
		t.Fatal(err)
	}
	_, answer := p.get("/api/v1/shows/" + show.String())
	for _, want := range []string{`"startsAt":"2030-07-01T17:30:00Z"`, `"amount":4050`, `"amount":2500`, `"status":"on_sale"`} {
		if !strings.Contains(answer, want) {
			t.Errorf("the show is without %s: %s", want, answer)
		}
	}
	p.terminate()
	p.wait()
}
