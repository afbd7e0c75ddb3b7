package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/uuid"
)

// Tests of the pages in a real Chromium, before the real binary with its demo
// data. A failed one leaves a picture of what was to be seen in tmp/browser.

// shots is where pictures for the docs are written to.
var shots = flag.String("shots", "", "folder for the pictures of docs/page.md")

// chromium is a browser on this machine, or "".
func chromium() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// shop is a running Rowlock and a browser.
type shop struct {
	*process
	browser context.Context
}

// tab is a page in a browser profile of its own: another person.
type tab struct {
	t       *testing.T
	s       *shop
	profile cdp.BrowserContextID
	ctx     context.Context
}

func openShop(t *testing.T, flags ...chromedp.ExecAllocatorOption) *shop {
	t.Helper()
	path := chromium()
	if path == "" {
		t.Skip("the page is tested in Chromium, and there is none on this machine")
	}
	s := &shop{process: start(t, map[string]string{"DATA_DIR": filepath.Join(t.TempDir(), ".rowlock"), "LOG_LEVEL": "info", "CORS_ORIGINS": "*"}, "run").ready()}
	for line := range s.said { // until the demo data is there
		if strings.Contains(line, "Ctrl-C stops it") {
			break
		}
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.WSURLReadTimeout(limit))
	opts = append(opts, flags...)
	if os.Getuid() == 0 {
		opts = append(opts, chromedp.NoSandbox)
	}
	alloc, stop := chromedp.NewExecAllocator(context.Background(), opts...)
	t.Cleanup(stop)
	// The protocol is newer than this copy of it; what it does not know is no news.
	browser, stop := chromedp.NewContext(alloc, chromedp.WithErrorf(log.New(&bytes.Buffer{}, "", 0).Printf))
	t.Cleanup(stop)
	if err := chromedp.Run(browser); err != nil {
		t.Fatal(err)
	}
	s.browser = browser
	return s
}

// open opens an address in a new profile, 1280 by 900 in English.
func (s *shop) open(t *testing.T, path string, first ...chromedp.Action) *tab {
	t.Helper()
	profile, err := target.CreateBrowserContext().WithDisposeOnDetach(true).Do(s.whole())
	if err != nil {
		t.Fatal(err)
	}
	return s.openIn(t, profile, path, first...)
}

// beside opens another tab of the same person.
func (b *tab) beside(path string) *tab {
	b.t.Helper()
	return b.s.openIn(b.t, b.profile, path)
}

// whole is where commands go that are for no tab.
func (s *shop) whole() context.Context {
	return cdp.WithExecutor(s.browser, chromedp.FromContext(s.browser).Browser)
}

func (s *shop) openIn(t *testing.T, profile cdp.BrowserContextID, path string, first ...chromedp.Action) *tab {
	t.Helper()
	// chromedp opens new profiles without a window, which Chromium refuses.
	id, err := target.CreateTarget("about:blank").WithBrowserContextID(profile).WithNewWindow(true).Do(s.whole())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := chromedp.NewContext(s.browser, chromedp.WithTargetID(id))
	ctx, cancel := context.WithTimeout(ctx, 6*limit)
	b := &tab{t, s, profile, ctx}
	t.Cleanup(func() {
		if t.Failed() {
			b.picture(filepath.Join(root, "tmp", "browser", strings.NewReplacer("/", "-", " ", "_").Replace(t.Name())+".png"))
		}
		cancel()
		stop()
	})
	b.run(append([]chromedp.Action{
		emulation.SetDeviceMetricsOverride(1280, 900, 1, false),
		emulation.SetLocaleOverride().WithLocale("en-GB"),
	}, first...)...)
	b.run(chromedp.Navigate(s.base + path))
	return b
}

// close closes the tab, as its cross does.
func (b *tab) close() {
	b.t.Helper()
	if err := target.CloseTarget(chromedp.FromContext(b.ctx).Target.TargetID).Do(b.s.whole()); err != nil {
		b.t.Fatal(err)
	}
}

func (b *tab) run(actions ...chromedp.Action) {
	b.t.Helper()
	if err := chromedp.Run(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

func (b *tab) picture(path string) {
	ctx, cancel := context.WithTimeout(b.ctx, 10*time.Second) // a tab in the background may never be painted
	defer cancel()
	var png []byte
	if err := chromedp.Run(ctx, chromedp.CaptureScreenshot(&png)); err != nil {
		b.t.Log("no picture: ", err)
		return
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, png, 0o644)); err != nil {
		b.t.Error(err)
	}
	b.t.Log("picture: ", path)
}

// shot is a picture for the docs, when they are asked for.
func (b *tab) shot(name string) {
	if *shots != "" {
		b.picture(filepath.Join(root, *shots, name))
	}
}

// js evaluates an expression, a promise's value if it is one.
func (b *tab) js(expression string, to any) {
	b.t.Helper()
	await := func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }
	if err := chromedp.Run(b.ctx, chromedp.Evaluate(expression, to, await)); err != nil {
		b.t.Fatalf("%.200s: %v", expression, err)
	}
}

// until waits for an expression to become true.
func (b *tab) until(what, expression string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, limit)
	defer cancel()
	for so := false; !so; {
		// A document that is just being left has no answer.
		_ = chromedp.Run(ctx, chromedp.Evaluate("Boolean("+expression+")", &so))
		select {
		case <-time.After(20 * time.Millisecond): // the page needs the processor, too
		case <-ctx.Done():
			var text string
			_ = chromedp.Run(b.ctx, chromedp.Evaluate(`document.body.innerText`, &text))
			b.t.Fatalf("it never came about: %s; the page says:\n%s", what, text)
		}
	}
}

// says waits for words on the page, outside the map.
func (b *tab) says(words string) {
	b.t.Helper()
	quoted, _ := json.Marshal(words)
	b.until("the page says "+words, fmt.Sprintf(`document.body.innerText.includes(%s)`, quoted))
}

const theMap = `document.querySelector('rowlock-map')`

// seated waits until the seats are there.
func (b *tab) seated() {
	b.t.Helper()
	b.until("the seats are painted", `performance.getEntriesByName('rowlock-map-painted').length && `+theMap+`?.hall && !`+theMap+`.busy`)
}

// status is what the map takes a seat for.
func (b *tab) status(label string) string {
	return fmt.Sprintf(theMap+`.hall.seats.find(s => s.label === %q).status`, label)
}

// seat clicks on a seat of the map.
func (b *tab) seat(label string) {
	b.t.Helper()
	b.until("the map takes clicks", theMap+`?.hall && !`+theMap+`.busy`)
	var at []float64
	b.js(fmt.Sprintf(`(() => { const m = %s, s = m.hall.seats.find(s => s.label === %q), r = m.canvas.getBoundingClientRect();
		const [x, y] = m.canvas.__zoom.apply([s.x, s.y]); return [x + r.left, y + r.top] })()`, theMap, label), &at)
	b.run(chromedp.MouseClickXY(at[0], at[1]))
}

// press clicks a button by its words.
func (b *tab) press(words string) {
	b.t.Helper()
	find := fmt.Sprintf(`[...document.querySelectorAll('button')].find(b => !b.disabled && b.offsetParent && b.textContent.trim().startsWith(%q))`, words)
	b.until("there is a button "+words, find)
	b.js(find+`.click()`, nil)
}

func (b *tab) card(token string) {
	b.t.Helper()
	b.until("the form is there", `document.querySelector('form.pay select[name=token]')`)
	b.js(fmt.Sprintf(`document.querySelector('form.pay select[name=token]').value = %q, document.querySelector('form.pay [name=name]').value ||= 'Ada Lovelace', document.querySelector('form.pay [name=email]').value ||= 'ada@example.org'`, token), nil)
}

// booked waits for tickets with their codes.
func (b *tab) booked(tickets int) {
	b.t.Helper()
	b.until(fmt.Sprintf("%d tickets with codes", tickets), fmt.Sprintf(`document.querySelectorAll('.ticket.valid img').length === %d && [...document.querySelectorAll('.ticket img')].every(i => i.naturalWidth > 0)`, tickets))
}

// wait joins the waitlist for two places.
func (b *tab) wait() {
	b.t.Helper()
	b.until("the form of the waitlist is there", `document.querySelector('.waitlist form')`)
	b.js(`document.querySelector('.waitlist [name=name]').value = 'Ada Lovelace', document.querySelector('.waitlist [name=email]').value = 'ada@example.org'`, nil)
	b.press("Wait for places")
	b.says("You wait for 2 places.")
}

// before runs a script in every document before its own.
func before(script string) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument(script).Do(ctx)
		return err
	})
}

// without is a script that has requests fail whose address, with a ? at its
// end, has a part in it.
func without(part string) string {
	return fmt.Sprintf(`{ const real = window.fetch
		window.fetch = (r, ...more) => ((r.url ?? String(r)) + '?').includes(%q) ? Promise.reject(new TypeError('no network')) : real(r, ...more) }`, part)
}

// as asks the API as a customer.
func (s *shop) as(t *testing.T, who, method, path, body string) map[string]any {
	t.Helper()
	headers := map[string]string{"X-Mock-User-Id": who, "Idempotency-Key": strings.ReplaceAll(uuid.NewString(), "-", "")}
	if body != "" {
		headers["Content-Type"] = "application/json"
	}
	code, answer := s.send(method, "/api/v1"+path, body, headers)
	if code < 200 || code > 299 {
		t.Fatalf("%s %s: %d %s", method, path, code, answer)
	}
	tree := map[string]any{}
	if answer != "" {
		if err := json.Unmarshal([]byte(answer), &tree); err != nil {
			t.Fatal(err)
		}
	}
	return tree
}

// admin asks the API as the organiser.
func (s *shop) admin(t *testing.T, method, path, kind, body string) map[string]any {
	t.Helper()
	code, answer := s.send(method, "/api/v1"+path, body, map[string]string{"X-API-Key": devKey, "Content-Type": kind, "Idempotency-Key": strings.ReplaceAll(uuid.NewString(), "-", "")})
	if code < 200 || code > 299 {
		t.Fatalf("%s %s: %d %s", method, path, code, answer)
	}
	tree := map[string]any{}
	if answer != "" {
		if err := json.Unmarshal([]byte(answer), &tree); err != nil {
			t.Fatal(err)
		}
	}
	return tree
}

// show makes a show on a plan in CSV of one category, 25.00 EUR a seat. more
// are further fields of it, as JSON.
func (s *shop) show(t *testing.T, csv, more string) string {
	t.Helper()
	venue := s.admin(t, "POST", "/venues", "application/json", `{"name":"Browser hall","city":"Bern","country":"CH","timeZone":"Europe/Zurich"}`)["venueId"]
	hall := s.admin(t, "POST", "/halls", "application/json", fmt.Sprintf(`{"venueId":%q,"name":"Main"}`, venue))["hallId"]
	plan := s.admin(t, "POST", fmt.Sprintf("/halls/%s/plans?format=csv", hall), "text/csv", csv)["planId"]
	return s.admin(t, "POST", "/shows", "application/json", fmt.Sprintf(`{"event":{"kind":"concert","title":"Test Flight"},"planId":%q,"startsAt":%q,"currency":"EUR",
		"prices":[{"category":"Stalls","amount":2500}],"publish":true%s}`, plan, time.Now().AddDate(0, 1, 0).Format(time.RFC3339), more))["showId"].(string)
}

// rows is a plan without coordinates.
func rows(rows, seats int) string {
	var b strings.Builder
	b.WriteString("section,row,seat,category\n")
	for r := range rows {
		for n := range seats {
			fmt.Fprintf(&b, "Stalls,%c,%d,Stalls\n", 'A'+r, n+1)
		}
	}
	return b.String()
}

func (s *shop) demo(t *testing.T, ref string) string {
	t.Helper()
	shows := s.admin(t, "GET", "/shows?externalRef="+ref, "", "")["shows"].([]any)
	return shows[0].(map[string]any)["showId"].(string)
}

func TestThePagesInABrowser(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	theatre := s.demo(t, "demo-theatre-tonight")

	t.Run("buying with the mouse", func(t *testing.T) {
		b := s.open(t, "/")
		b.until("events are listed", `document.querySelectorAll('.event').length > 5`)
		b.js(`document.querySelector('select[name=city]').value = 'London', document.querySelector('select[name=city]').dispatchEvent(new Event('change', {bubbles: true}))`, nil)
		b.js(`document.querySelector('select[name=city]').focus()`, nil)
		b.until("only London's are", `location.search === '?city=London' && [...document.querySelectorAll('.chip')].every(c => c.innerText.includes('London'))`)
		var focused string
		b.js(`document.activeElement.name ?? ''`, &focused)
		if focused != "city" {
			t.Errorf("after a choice the focus is not where it was: %q", focused)
		}
		b.run(chromedp.Click(fmt.Sprintf(`a[href="/?show=%s"]`, theatre), chromedp.ByQuery))
		b.seated()
		b.seat("Stalls-C-7")
		b.seat("Stalls-C-8")
		b.says("Hold 2 places")
		b.shot("page-light.png")
		b.js(`document.querySelectorAll('.lines select')[1].value = 'child', document.querySelectorAll('.lines select')[1].dispatchEvent(new Event('change'))`, nil)
		b.press("Hold 2 places")
		b.says("These places are nobody else’s for")
		// A hold changes without losing the rest.
		b.seat("Stalls-C-9")
		b.until("three are held", `document.querySelectorAll('.lines li').length === 3 && !`+theMap+`.busy`)
		b.seat("Stalls-C-7")
		b.until("two are", `document.querySelectorAll('.lines li').length === 2 && !`+theMap+`.busy`)
		b.card("sbx_ok")
		b.press("Pay")
		b.booked(2)
		b.shot("page-tickets.png")
		b.says("It is too late") // tonight's go until the day before
	})

	t.Run("giving tickets back", func(t *testing.T) {
		show := s.show(t, rows(3, 10), `,"cancellation":{"untilMinutesBeforeStart":60,"refundPercent":100}`)
		b := s.open(t, "/?show="+show)
		b.seated()
		b.seat("Stalls-A-1")
		b.seat("Stalls-A-2")
		b.press("Hold 2 places")
		b.card("sbx_ok")
		b.press("Pay")
		b.booked(2)
		b.press("Give tickets back")
		b.js(`document.querySelectorAll('dialog input')[0].click()`, nil)
		b.until("one is to be given back", `document.querySelector('dialog button.main').textContent.trim() === 'Give 1 ticket back'`)
		b.js(`document.querySelector('dialog button.main').click()`, nil)
		b.says("Given back. €25.00 are on their way to you.")
		b.booked(1)
		b.js(`document.querySelector('a[href="/?bookings"]').click()`, nil)
		b.until("it is among my bookings", `document.querySelectorAll('.bookings li').length === 1`)
	})

	t.Run("buying with the keyboard alone", func(t *testing.T) {
		show := s.show(t, rows(4, 12), "")
		b := s.open(t, "/?show="+show)
		b.seated()
		tabTo := func(what, is string) {
			t.Helper()
			for range 60 {
				var there bool
				b.js(`(() => { let a = document.activeElement; while (a?.shadowRoot?.activeElement) a = a.shadowRoot.activeElement; return Boolean(a && (`+is+`)) })()`, &there)
				if there {
					return
				}
				b.run(chromedp.KeyEvent(kb.Tab))
			}
			t.Fatalf("Tab never reached %s", what)
		}
		tabTo("the seats", `a.getAttribute('role') === 'gridcell'`)
		b.run(chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.ArrowDown))
		b.until("the third of row B has the focus", theMap+`.shadowRoot.activeElement?.getAttribute('aria-label')?.startsWith('Stalls-B-3,')`)
		b.run(chromedp.KeyEvent(" "))
		b.until("it is said", theMap+`.shadowRoot.querySelector('[aria-live]').textContent.includes('Stalls-B-3, €25.00 chosen, 1 place in all')`)
		b.run(chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.Enter))
		tabTo("hold", `a.textContent.trim() === 'Hold 2 places'`)
		b.run(chromedp.KeyEvent(kb.Enter))
		b.says("These places are nobody else’s for")
		b.until("the focus is where it goes on", `document.activeElement.textContent === 'Held for you'`)
		tabTo("the name", `a.name === 'name'`)
		b.run(chromedp.KeyEvent("Grace Hopper"), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent("grace@example.org"))
		tabTo("pay", `a.textContent.trim().startsWith('Pay')`)
		b.run(chromedp.KeyEvent(kb.Enter))
		b.booked(2)
	})

	t.Run("a decline, and then another card", func(t *testing.T) {
		show := s.show(t, rows(2, 8), "")
		b := s.open(t, "/?show="+show)
		b.seated()
		b.seat("Stalls-A-4")
		b.press("Hold 1 place")
		b.card("sbx_declined")
		b.press("Pay")
		b.says("The payment was declined (card declined). Your places are still held")
		// It can be gone on with from the bookings, too.
		b.run(chromedp.Navigate(s.base + "/?bookings"))
		b.says("Places are held for you")
		b.run(chromedp.Click(`.bookings a`, chromedp.ByQuery))
		b.press("Pay now")
		b.card("sbx_ok")
		b.press("Pay")
		b.booked(1)
	})

	t.Run("a confirmation page, and a payment that is settled later", func(t *testing.T) {
		show := s.show(t, rows(2, 8), "")
		b := s.open(t, "/?show="+show)
		b.seated()
		b.seat("Stalls-A-4")
		b.press("Hold 1 place")
		b.card("sbx_redirect")
		b.press("Pay")
		const asked = `document.querySelector('button[value=confirm]')`
		b.until("the gateway asks", asked)
		// Who goes back finds the way there again.
		b.run(chromedp.NavigateBack())
		b.says("Your payment is being settled")
		b.run(chromedp.Click(`.panel a`, chromedp.ByQuery))
		b.until("the gateway asks again", asked)
		b.run(chromedp.Click(`button[value=confirm]`, chromedp.ByQuery))
		b.booked(1)
		b.run(chromedp.Navigate(s.base + "/?show=" + show))
		b.seated()
		b.seat("Stalls-B-4")
		b.press("Hold 1 place")
		b.card("sbx_async")
		b.press("Pay")
		b.booked(1)
	})

	t.Run("two browsers want the same seat", func(t *testing.T) {
		show := s.show(t, rows(6, 14), "")
		one, two := s.open(t, "/?show="+show), s.open(t, "/?show="+show)
		one.seated()
		two.seated()
		two.seat("Stalls-C-5")
		two.seat("Stalls-C-6")
		one.seat("Stalls-C-6")
		one.press("Hold 1 place")
		began := time.Now()
		two.says("Stalls-C-6 just went to somebody else. The rest stays: 1 place.")
		t.Logf("held in one, seen in the other %v after the click", time.Since(began))
		one.says("These places are nobody else’s for")
		two.until("only the other one is chosen", `document.querySelectorAll('.lines li').length === 1 && document.querySelector('.lines').innerText.includes('Stalls-C-5')`)
		one.shot("page-race-winner.png")
		two.shot("page-race-loser.png")
		one.press("Let them go")
		two.until("it is free again", two.status("Stalls-C-6")+` === 'a'`)
		// Who did not hear of it in time is told by the refusal.
		two.js(theMap+`.live.stop()`, nil)
		two.seat("Stalls-D-1")
		one.seat("Stalls-D-1")
		one.press("Hold 1 place")
		one.says("These places are nobody else’s for")
		two.press("Hold 2 places")
		two.says("Stalls-D-1 just went to somebody else.")
		two.press("Hold 1 place")
		two.says("These places are nobody else’s for")
	})

	t.Run("loaded again, a hold is still there; closed, it is let go", func(t *testing.T) {
		show := s.show(t, rows(2, 8), "")
		b, other := s.open(t, "/?show="+show), s.open(t, "/?show="+show)
		b.seated()
		other.seated()
		b.until("the worker is there", `navigator.serviceWorker.controller`)
		b.seat("Stalls-A-2")
		b.press("Hold 1 place")
		b.says("These places are nobody else’s for")
		var before, after string
		const id = `Object.entries(sessionStorage).map(([, v]) => JSON.parse(v).reservationId).find(Boolean)`
		b.js(id, &before)
		b.run(chromedp.Reload())
		b.says("These places are nobody else’s for")
		b.js(id, &after)
		if before != after || before == "" {
			t.Errorf("the hold was %s and is %s", before, after)
		}
		other.until("it is held", other.status("Stalls-A-2")+` === 'h'`)
		b.run(chromedp.Navigate("about:blank"))
		other.until("it is free", other.status("Stalls-A-2")+` === 'a'`)
	})

	t.Run("a tab that is closed lets go of its hold", func(t *testing.T) {
		show := s.show(t, rows(2, 8), "")
		other := s.open(t, "/?show="+show)
		other.seated()
		seats := map[string]bool{"Stalls-A-3": false, "Stalls-B-6": true}
		for seat, elsewhere := range seats {
			b := s.open(t, "/?show="+show)
			b.seated()
			b.until("the worker is there", `navigator.serviceWorker.controller`)
			b.seat(seat)
			b.press("Hold 1 place")
			b.says("These places are nobody else’s for")
			other.until("it is held", other.status(seat)+` === 'h'`)
			if elsewhere { // not even on the page of the show any more
				b.js(`document.querySelector('a.brand').click()`, nil)
				b.says("Places are held for you")
			}
			// A browser gives a page that is busy half a second to hear that it is closed.
			b.js(`new Promise(done => requestIdleCallback(() => done()))`, nil)
			b.close()
		}
		for seat := range seats {
			other.until(seat+" is free", other.status(seat)+` === 'a'`)
		}
	})

	t.Run("a tab that was duplicated keeps the hold of both", func(t *testing.T) {
		show := s.show(t, rows(2, 8), "")
		b := s.open(t, "/?show="+show)
		b.seated()
		b.until("the worker is there", `navigator.serviceWorker.controller`)
		b.seat("Stalls-A-2")
		b.press("Hold 1 place")
		b.says("These places are nobody else’s for")
		// Browsers copy what a tab has kept.
		var kept string
		b.js(`JSON.stringify(sessionStorage)`, &kept)
		twin := b.beside("/")
		twin.js(`Object.assign(sessionStorage, `+kept+`), location.search = '?show=`+show+`'`, nil)
		twin.says("These places are nobody else’s for")
		twin.js(`navigator.serviceWorker.addEventListener('message', e => window.leaving = e.data.leaving)`, nil)
		b.close()
		twin.until("it is asked whether it needs the hold", `window.leaving`)
		// The worker lets go of nothing any more: its answer comes after the twin's.
		twin.js(`new Promise(done => setTimeout(done, 9000))`, nil)
		twin.run(chromedp.Reload())
		twin.says("These places are nobody else’s for")
	})

	t.Run("the sale begins while the page is open", func(t *testing.T) {
		show := s.show(t, rows(2, 8), fmt.Sprintf(`,"salesStartAt":%q`, time.Now().Add(8*time.Second).Format(time.RFC3339)))
		b := s.open(t, "/?show="+show)
		b.says("On sale from")
		b.seated()
		b.seat("Stalls-A-2")
		b.press("Hold 1 place")
		b.says("These places are nobody else’s for")
	})

	t.Run("a hold that is over", func(t *testing.T) {
		show := s.show(t, rows(2, 8), `,"holdSeconds":4`)
		b := s.open(t, "/?show="+show)
		b.seated()
		b.seat("Stalls-A-2")
		b.press("Hold 1 place")
		b.says("The time for your places is over.")
		var says string
		b.js(`document.body.innerText`, &says)
		if strings.Contains(says, "just went to somebody else") {
			t.Error("one's own hold that is over is taken for somebody else's")
		}
		b.press("Hold them again")
		b.says("These places are nobody else’s for")
	})

	t.Run("the network goes, and comes back", func(t *testing.T) {
		show := s.show(t, rows(2, 8), "")
		b := s.open(t, "/?show="+show, network.Enable())
		b.seated()
		b.seat("Stalls-A-2")
		b.run(network.EmulateNetworkConditions(true, 0, 0, 0))
		b.press("Hold 1 place")
		b.says("The same request is sent again")
		b.run(network.EmulateNetworkConditions(false, 0, -1, -1))
		b.says("These places are nobody else’s for")
	})

	t.Run("the same in Arabic, from right to left", func(t *testing.T) {
		b := s.open(t, "/?show="+s.demo(t, "demo-concert-jazz"), emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "light"}}))
		b.seated()
		b.press("العربية")
		b.until("it is from right to left", `document.documentElement.dir === 'rtl'`)
		b.says("أماكنك")
		var label string
		b.js(theMap+`.hall.seats.filter(s => s.status === 'a')[40].label`, &label)
		b.js(theMap+`.toggle(`+theMap+`.hall.seats.filter(s => s.status === 'a')[40])`, nil)
		b.press("احجز مؤقتًا")
		b.says("هذه الأماكن لك وحدك")
		b.shot("page-arabic.png")
		b.run(chromedp.Reload())
		b.says("هذه الأماكن لك وحدك")
	})

	t.Run("on a phone, in the dark, with standing areas", func(t *testing.T) {
		b := s.open(t, "/?show="+s.demo(t, "demo-arena-standing"),
			emulation.SetDeviceMetricsOverride(390, 844, 2, true), emulation.SetTouchEmulationEnabled(true),
			emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}))
		b.seated()
		const plus = theMap + `.shadowRoot.querySelectorAll('.stepper button:last-of-type')[0]`
		b.js(plus+`.click(), `+plus+`.click()`, nil)
		b.says("Hold 2 places")
		var wide bool
		b.js(`document.documentElement.scrollWidth > innerWidth`, &wide)
		if wide {
			t.Error("the page is wider than the phone")
		}
		b.shot("page-phone-dark.png")
		b.press("Hold 2 places")
		b.card("sbx_ok")
		b.press("Pay")
		b.booked(2)
	})

	t.Run("the list takes clicks, too", func(t *testing.T) {
		show := s.show(t, rows(2, 8), "")
		b := s.open(t, "/?show="+show)
		b.seated()
		b.js(theMap+`.shadowRoot.querySelectorAll('.tabs button')[1].click()`, nil)
		b.until("seats are listed", theMap+`.shadowRoot.querySelectorAll('[role=gridcell]').length === 16`)
		b.js(theMap+`.shadowRoot.querySelector('[aria-label^="Stalls-B-5,"]').click()`, nil)
		b.says("Hold 1 place")
	})

	t.Run("the page of docs/embed.md", func(t *testing.T) {
		text, err := os.ReadFile(filepath.Join(root, "docs", "embed.md"))
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile("(?s)```html\n(.*?)```").FindSubmatch(text)
		if found == nil {
			t.Fatal("docs/embed.md has no page")
		}
		page := strings.NewReplacer("http://localhost:8080", s.base, "SHOW", theatre).Replace(string(found[1]))
		other := serveAt(t, page)
		b := s.open(t, "/docs")
		b.run(chromedp.Navigate(other))
		b.seated()
		b.seat("Stalls-F-7")
		b.says("Stalls-F-7")
	})

	t.Run("no page has a serious fault for those who see or hear otherwise", func(t *testing.T) {
		axe, err := os.ReadFile(filepath.Join(root, "web", "node_modules", "axe-core", "axe.min.js"))
		if err != nil {
			t.Skip("axe-core is not here; make web fetches it")
		}
		b := s.open(t, "/")
		check := func(name string) {
			t.Helper()
			b.js(string(axe)+"; 0", nil)
			var faults []string
			b.js(`axe.run(document, {resultTypes: ['violations']}).then(r => r.violations.filter(v => v.impact === 'serious' || v.impact === 'critical')
				.flatMap(v => v.nodes.map(n => v.id + ': ' + n.failureSummary + ' ' + n.target.join(' ') + ' ' + n.html.slice(0, 200))))`, &faults)
			for _, f := range faults {
				t.Errorf("%s: %s", name, f)
			}
		}
		for _, scheme := range []string{"light", "dark"} {
			b.run(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
			b.run(chromedp.Navigate(s.base + "/"))
			b.until("events are listed", `document.querySelectorAll('.event').length > 5`)
			check("what is on, " + scheme)
			b.run(chromedp.Navigate(s.base + "/?show=" + s.demo(t, "demo-arena-standing")))
			b.seated()
			check("a show with areas, " + scheme)
			b.run(chromedp.Navigate(s.base + "/?show=" + s.show(t, rows(3, 10), `,"cancellation":{"untilMinutesBeforeStart":60,"refundPercent":100}`)))
			b.seated()
			b.seat("Stalls-A-5")
			check("a show, " + scheme)
			b.press("العربية")
			b.until("it is Arabic", `document.documentElement.lang === 'ar'`)
			check("a show in Arabic, " + scheme)
			b.press("English")
			b.js(theMap+`.shadowRoot.querySelectorAll('.tabs button')[1].click()`, nil)
			check("its seats as a list, " + scheme)
			b.press("Hold 1 place")
			b.card("sbx_declined")
			check("a hold, " + scheme)
			b.press("Pay")
			b.says("The payment was declined")
			check("a card that was declined, " + scheme)
			b.card("sbx_ok")
			b.press("Pay")
			b.booked(1)
			check("tickets, " + scheme)
			b.press("Give tickets back")
			check("giving them back, " + scheme)
			b.press("Keep them")
			b.run(chromedp.Navigate(s.base + "/?bookings"))
			b.until("bookings are listed", `document.querySelectorAll('.bookings li').length > 0`)
			check("my bookings, " + scheme)
			early := s.show(t, rows(3, 10), fmt.Sprintf(`,"salesStartAt":%q`, time.Now().Add(time.Hour).Format(time.RFC3339)))
			s.admin(t, "PATCH", "/shows/"+early, "application/json", `{"queue":{"mode":"automatic"}}`)
			b.run(chromedp.Navigate(s.base + "/?show=" + early))
			b.seated()
			b.until("it can be joined", `document.querySelector('.panel .note button')`)
			check("before the waiting room, " + scheme)
			b.press("Join the line")
			b.says("You have joined the line.")
			check("in the waiting room, " + scheme)
			full := s.show(t, rows(1, 2), "")
			s.as(t, uuid.NewString(), "POST", "/reservations", fmt.Sprintf(`{"showId":%q,"seats":[{"label":"Stalls-A-1"},{"label":"Stalls-A-2"}]}`, full))
			b.run(chromedp.Navigate(s.base + "/?show=" + full))
			b.until("one can wait", `document.querySelector('.waitlist form')`)
			check("a waitlist, " + scheme)
			b.wait()
			check("on a waitlist, " + scheme)
			b.run(chromedp.Navigate(s.base + "/developers"))
			check("for developers, " + scheme)
			b.run(chromedp.Navigate(s.base + "/problems"))
			check("problems, " + scheme)
		}
	})

	t.Run("in the waiting room", func(t *testing.T) {
		show := s.show(t, rows(2, 8), "")
		at := "/shows/" + show
		s.admin(t, "PATCH", at, "application/json", `{"queue":{"ratePerMinute":1}}`)
		s.admin(t, "POST", at+"/queue/open", "", "")
		for range 3 { // who came before, and were drawn: the first has their turn, the others wait
			joined := s.as(t, uuid.NewString(), "POST", at+"/queue", "")
			for drawn := false; !drawn; {
				read := s.admin(t, "GET", "/queue/"+joined["entryId"].(string), "", "")
				drawn = read["position"] != nil || read["status"] == "admitted"
			}
		}
		streamed := s.open(t, "/?show="+show)
		asking := s.open(t, "/?show="+show, before(without(`/stream?streamToken`)+`
			window.tones = 0
			const start = OscillatorNode.prototype.start
			OscillatorNode.prototype.start = function (...a) { window.tones++; return start.apply(this, a) }`))
		for _, b := range []*tab{streamed, asking} {
			b.seated()
			b.says("they take turns")
			b.seat("Stalls-A-2")
			b.press("Hold 1 place") // as good as joining
			b.until("the place in the line is known", `Number(document.querySelector('.queue dd')?.textContent) >= 3`)
			b.until("the tab tells it, too", `/^\d+ · Test Flight/.test(document.title)`)
		}
		streamed.shot("page-queue.png")
		var mine, after string
		const entry = `Object.entries(localStorage).find(([k]) => k.startsWith('rowlock-queue-'))[1]`
		streamed.js(entry, &mine)
		streamed.run(chromedp.Reload())
		streamed.until("it is there after a reload", `Number(document.querySelector('.queue dd')?.textContent) >= 3`)
		streamed.js(entry, &after)
		if mine != after {
			t.Errorf("the entry was %s and is %s", mine, after)
		}
		streamed.js(without("/queue/"+mine+"?")+";0", nil) // from now on only the stream can tell
		s.admin(t, "PATCH", at, "application/json", `{"queue":{"ratePerMinute":6000}}`)
		for _, b := range []*tab{streamed, asking} {
			b.says("It is your turn: hold your places now.")
			b.until("the tab calls", `document.title.startsWith('Your turn · ')`)
			b.says("Your turn ends in")
		}
		asking.until("there is a sound", `window.tones > 0`)
		// A turn survives a reload, and is used.
		asking.run(chromedp.Reload())
		asking.says("Your turn ends in")
		asking.seated()
		asking.press("Hold 1 place")
		asking.says("These places are nobody else’s for")
		// The other chose the same seat, is told so, and their turn still holds another.
		streamed.says("Stalls-A-2 just went to somebody else.")
		streamed.seat("Stalls-B-2")
		streamed.press("Hold 1 place")
		streamed.says("These places are nobody else’s for")
	})

	t.Run("a turn that was missed, and one in another window", func(t *testing.T) {
		show := s.show(t, rows(2, 8), "")
		at := "/shows/" + show
		s.admin(t, "PATCH", at, "application/json", `{"queue":{"admissionSeconds":2}}`)
		s.admin(t, "POST", at+"/queue/open", "", "")
		b := s.open(t, "/?show="+show)
		b.seated()
		b.press("Join the line")
		b.says("Your turn has passed")
		s.admin(t, "PATCH", at, "application/json", `{"queue":{"admissionSeconds":600}}`)
		b.press("Join the line again")
		b.says("It is your turn")
		b.seat("Stalls-A-2")
		b.press("Hold 1 place")
		b.says("These places are nobody else’s for")
		twin := b.beside("/?show=" + show)
		twin.seated()
		twin.seat("Stalls-B-2")
		twin.press("Hold 1 place")
		twin.press("Go on with them here")
		twin.until("it is the same hold", `document.querySelector('.lines')?.innerText.includes('Stalls-A-2')`)
	})

	t.Run("in line before the sale", func(t *testing.T) {
		show := s.show(t, rows(2, 8), fmt.Sprintf(`,"salesStartAt":%q`, time.Now().Add(12*time.Second).Format(time.RFC3339)))
		at := "/shows/" + show
		s.admin(t, "PATCH", at, "application/json", `{"queue":{"mode":"automatic","threshold":1,"ratePerMinute":6000}}`)
		for range 2 {
			s.as(t, uuid.NewString(), "POST", at+"/queue", "")
		}
		b := s.open(t, "/?show="+show)
		b.press("Join the line")
		b.says("Then everybody’s place is drawn by lot")
		b.says("It is your turn: hold your places now.")
		b.seated()
		b.seat("Stalls-A-2")
		b.press("Hold 1 place")
		b.says("These places are nobody else’s for")
	})

	t.Run("waiting for places of a sold-out show", func(t *testing.T) {
		show := s.show(t, rows(1, 2), "")
		who := uuid.NewString()
		held := s.as(t, who, "POST", "/reservations", fmt.Sprintf(`{"showId":%q,"seats":[{"label":"Stalls-A-1"},{"label":"Stalls-A-2"}]}`, show))
		b := s.open(t, "/?show="+show)
		b.says("Sold out for now")
		b.wait()
		b.says("Nothing has been given back yet.")
		b.shot("page-waitlist.png")
		b.run(chromedp.Reload())
		b.says("You are next.")
		path := "/reservations/" + held["reservationId"].(string)
		s.as(t, who, "PATCH", path, `{"remove":{"seats":[{"label":"Stalls-A-1"}]}}`)
		b.says("1 place was free, too few for you.")
		s.as(t, who, "DELETE", path, "")
		b.press("See and buy them")
		b.says("These places are nobody else’s for")
		var stays bool
		b.js(`Object.entries(sessionStorage).some(([k, v]) => k.startsWith('rowlock-cart-') && JSON.parse(v).stays)`, &stays)
		if !stays {
			t.Error("closing the page would let the offer go")
		}
		b.card("sbx_ok")
		b.press("Pay")
		b.booked(2)
	})

	t.Run("twenty thousand seats", func(t *testing.T) {
		var csv strings.Builder
		csv.WriteString("section,row,seat,category,x,y\n")
		for section := range 20 {
			for row := range 25 {
				for seat := range 40 {
					fmt.Fprintf(&csv, "%d,%d,%d,Stalls,%d,%d\n", section+1, row+1, seat+1, section%5*900+seat*20, section/5*600+row*22)
				}
			}
		}
		show := s.show(t, csv.String(), "")
		b := s.open(t, "/?show="+show)
		b.seated()
		var first, again float64
		b.js(`performance.getEntriesByName('rowlock-map-painted')[0].startTime`, &first)
		b.run(chromedp.Reload())
		b.seated()
		b.js(`performance.getEntriesByName('rowlock-map-painted')[0].startTime`, &again)
		t.Logf("20,000 seats: first paint %.0f ms after the page was asked for, %.0f ms when its plan is cached", first, again)
		b.shot("map-20000.png")
		count := 45
		if *shots != "" { // its figures are wanted, too
			count = 180
		}
		for _, m := range []struct{ name, moves string }{
			{"panning", "m.zoomer.translateBy(sel, Math.sin(i / 20) * 6, Math.cos(i / 20) * 4)"},
			{"zooming", "m.zoomer.scaleBy(sel, i % 120 < 60 ? 1.04 : 1 / 1.04)"},
			{"panning with seats near", "(i === 0 && m.zoomer.scaleTo(sel, 0.9), m.zoomer.translateBy(sel, Math.sin(i / 20) * 6, Math.cos(i / 20) * 4))"},
			{"panning while seats come and go", "(m.set([[m.hall.seats[i * 97], 'h'], [m.hall.seats[i * 89], 'b']]), m.zoomer.translateBy(sel, Math.sin(i / 20) * 6, Math.cos(i / 20) * 4))"},
		} {
			var frames []float64
			b.js(fmt.Sprintf(`new Promise(done => { const m = %s, sel = m.glide(0).selection(), all = []; let i = 0, last;
				sel.interrupt();
				const step = now => { if (last) all.push(now - last); last = now; %s; if (++i < %d) requestAnimationFrame(step); else done(all.sort((a, b) => a - b)) };
				requestAnimationFrame(step) })`, theMap, m.moves, count), &frames)
			n := len(frames)
			t.Logf("%s: frames p50 %.1f ms, p95 %.1f ms, worst %.1f ms", m.name, frames[n/2], frames[n*95/100], frames[n-1])
		}
	})
}

// serveAt serves a page from an origin of its own.
func serveAt(t *testing.T, page string) string {
	t.Helper()
	l, err := listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, page)
	})}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	return "http://" + l.Addr().String()
}
