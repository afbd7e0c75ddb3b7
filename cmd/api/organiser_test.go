package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// types fills in a field as fingers do.
func (b *tab) types(field, text string) {
	b.t.Helper()
	b.until("there is "+field, fmt.Sprintf(`document.querySelector(%q)?.offsetParent`, field))
	b.run(chromedp.Focus(field, chromedp.ByQuery), chromedp.SendKeys(field, text, chromedp.ByQuery))
}

// figure waits for a figure of the sale.
func (b *tab) figure(name string, n int) {
	b.t.Helper()
	b.until(fmt.Sprintf("%s is %d", name, n), fmt.Sprintf(
		`[...document.querySelectorAll('.figures div')].some(d => d.querySelector('dt').textContent === %q && parseInt(d.querySelector('dd').textContent) === %d)`, name, n))
}

// listed chooses the first n seats of the map's list, by keyboard.
func (b *tab) listed(n int) {
	b.t.Helper()
	b.until("the list has seats, and the keyboard is there", `(() => {
		const root = document.querySelector('rowlock-map')?.shadowRoot
		const list = [...(root?.querySelectorAll('button') ?? [])].find(b => b.textContent.trim() === 'List')
		if (list?.getAttribute('aria-pressed') === 'false') list.click()
		const cell = root?.querySelector('[role=gridcell]')
		cell?.focus()
		return cell && root.activeElement === cell
	})()`)
	for i := range n {
		if i > 0 {
			b.run(chromedp.KeyEvent(kb.ArrowRight))
		}
		b.run(chromedp.KeyEvent(" "))
	}
	b.says(fmt.Sprintf("%d chosen", n))
}

// faultless looks for faults of accessibility, if axe-core is here.
func (b *tab) faultless() {
	b.t.Helper()
	axe, err := os.ReadFile(filepath.Join(root, "web", "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		b.t.Log("axe-core is not here; make web fetches it")
		return
	}
	var faults []string
	b.js(string(axe)+"; 0", nil)
	b.js(`axe.run().then(r => r.violations.map(v => v.id + ' (' + v.impact + '): ' + v.nodes.map(n => n.target.join(' ')).join(', ')))`, &faults)
	for _, fault := range faults {
		b.t.Error(fault)
	}
}

// organiser opens the organiser's pages and signs in.
func (s *shop) organiser(t *testing.T, key string) *tab {
	t.Helper()
	b := s.open(t, "/organiser")
	b.types("#credential", key+kb.Enter)
	b.until("somebody is signed in", `document.querySelector('.who')`)
	return b
}

// visit goes to a view of the organiser's pages.
func (b *tab) visit(view string) {
	b.t.Helper()
	b.js(fmt.Sprintf(`location.hash = %q`, "#/"+view), nil)
}

func TestTheOrganisersPagesInABrowser(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	theatre := s.demo(t, "demo-theatre-tonight")

	t.Run("a key is typed once, and no script can read what stands for it", func(t *testing.T) {
		b := s.open(t, "/organiser")
		b.types("#credential", "nonsense"+kb.Enter)
		b.says("unknown, revoked or expired")
		b.faultless()
		b.js(`document.querySelector('#credential').value = ''`, nil)
		b.types("#credential", devKey+kb.Enter)
		b.says("Hamlet")
		b.faultless()
		var readable string
		b.js(`document.cookie + JSON.stringify(localStorage) + JSON.stringify(sessionStorage)`, &readable)
		if strings.Contains(readable, "rowlock-organiser") || strings.Contains(readable, devKey) {
			t.Errorf("a script can read %q", readable)
		}
		b.run(chromedp.Navigate(s.base + "/riverui/"))
		b.until("River UI takes the same browser", `document.title.includes('River')`)
		b.run(chromedp.Navigate(s.base + "/organiser"))
		b.press("Sign out")
		b.until("nobody is signed in", `document.querySelector('#credential')`)
		var status int
		b.js(`fetch('/api/v1/changes').then(r => r.status)`, &status)
		if status != http.StatusUnauthorized {
			t.Errorf("signed out: %d", status)
		}
	})

	t.Run("a show is watched, seats are blocked, and sold from the block", func(t *testing.T) {
		b := s.organiser(t, devKey)
		b.visit("shows/" + theatre)
		b.figure("Held", 0)
		s.admin(t, "POST", "/reservations", "application/json", fmt.Sprintf(`{"showId":%q,"customerId":"ben","seats":[{"label":"Stalls-F-1"},{"label":"Stalls-F-2"}]}`, theatre))
		b.figure("Held", 2) // without anything being pressed
		b.listed(2)
		b.types("#reason", "camera platform")
		b.press("Block")
		b.says("2 seats off sale")
		b.figure("Blocked", 2)
		b.faultless()
		b.listed(1)
		b.types("#reference", "till 3")
		b.types("#buyer", "Ada Lovelace")
		b.types("#email", "ada@example.org")
		b.press("Sell for")
		b.says("Tickets issued")
		b.faultless()
		b.visit("shows/" + theatre)
		b.figure("Sold", 1)
		b.figure("Blocked", 1)
		b.js(`[...document.querySelector('rowlock-map').shadowRoot.querySelectorAll('button')].find(b => b.textContent.trim() === 'Map').click()`, nil)
		b.shot("organiser-show.png")
		b.press("Pause sales")
		b.says("Sales are paused")
		b.press("Resume sales")
		b.says("on sale again")
	})

	t.Run("a booking is found by name, moved through, and given back", func(t *testing.T) {
		b := s.organiser(t, devKey)
		b.visit("bookings")
		b.types("#q", "lovelace"+kb.Enter)
		b.says("1 found")
		b.faultless()
		b.run(chromedp.Click("tbody a", chromedp.ByQuery))
		b.says("Places held")
		b.shot("organiser-booking.png")

		// At the door first: by its code, and again, and by the camera.
		found := s.admin(t, "GET", "/bookings?q=lovelace", "", "")["bookings"].([]any)[0].(map[string]any)
		ticket := found["tickets"].([]any)[0].(map[string]any)
		b.visit("door/" + theatre)
		b.types("#gate", "north")
		b.types("#code", "nonsense"+kb.Enter)
		b.says("No ticket of ours")
		b.types("#code", strings.ToLower(ticket["code"].(string))+kb.Enter)
		b.says("Let in")
		b.says("1 of 1 are in")
		b.shot("organiser-door.png")
		// What the camera sees is the ticket's own QR code.
		b.js(fmt.Sprintf(`(async () => {
			const picture = await createImageBitmap(await (await fetch('/api/v1/tickets/%s/qr.png?size=400')).blob())
			const canvas = document.createElement('canvas')
			canvas.width = 640; canvas.height = 480
			const c = canvas.getContext('2d')
			setInterval(() => { c.fillStyle = '#ddd'; c.fillRect(0, 0, 640, 480); c.drawImage(picture, 120, 40) }, 50)
			navigator.mediaDevices.getUserMedia = async () => canvas.captureStream(20)
		})()`, ticket["ticketId"]), nil)
		b.press("Use the camera")
		b.says("Was here before")
		b.says("First at")
		b.faultless()
		b.press("Stop the camera")
		b.until("the camera is off", `!document.querySelector('video')`)

		b.visit("bookings/" + found["bookingId"].(string))
		b.says("Admitted at the door")
		b.js(`window.confirm = () => true`, nil)
		b.press("Cancel and refund all")
		b.says("1 place free again")
		b.says("Tickets void")
		b.faultless()
	})

	t.Run("a plan's problems are on its map, and a show is made of it", func(t *testing.T) {
		folder := t.TempDir()
		file := func(name, line string) string {
			path := filepath.Join(folder, name)
			var more strings.Builder
			for i := range 80 {
				fmt.Fprintf(&more, "S,%c,%d,Back,%d,%d\n", 'B'+i/16, i%16+1, i%16*20, 20+i/16*20)
			}
			if err := os.WriteFile(path, []byte("section,row,seat,category,x,y\nS,A,1,Front,0,0\n"+line+more.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			return path
		}
		b := s.organiser(t, devKey)
		b.visit("plans")
		b.until("there is a form", `document.querySelector('summary')`)
		b.js(`document.querySelector('summary').click()`, nil)
		b.types("#venue-name", "Odeon")
		b.types("#city", "Wien")
		b.types("#country", "at")
		b.js(`document.querySelector('#zone').value = 'Europe/Vienna'`, nil)
		b.press("Add venue")
		b.types("#hall-name", "Saal")
		b.press("Add hall")
		b.until("a document can be chosen", `document.querySelector('#file')`)
		b.run(chromedp.SetUploadFiles("#file", []string{file("bad.csv", "S,A,1,Front,20,0\nS,A,3,,40,0\n")}, chromedp.ByQuery))
		b.says("2 problems")
		b.says("is here again; it was first at line 2")
		b.until("it cannot be imported", `[...document.querySelectorAll('button')].find(b => b.textContent === 'Import this plan')?.disabled`)
		b.until("a click on the map marks a problem of the list", `(() => {
			const canvas = document.querySelector('.plan canvas'), box = canvas.getBoundingClientRect()
			for (let x = 0; x < box.width; x += 5) for (let y = 0; y < box.height; y += 5)
				canvas.dispatchEvent(new MouseEvent('click', {clientX: box.left + x, clientY: box.top + y, bubbles: true}))
			return document.querySelector('.problems .at')
		})()`)
		b.faultless()
		b.shot("organiser-plan.png")
		b.run(chromedp.SetUploadFiles("#file", []string{file("good.csv", "S,A,2,Front,20,0\n")}, chromedp.ByQuery))
		b.says("No problems")
		b.press("Import this plan")
		b.types("#title", "Faust")
		b.js(`document.querySelector('#starts').value = '2030-07-01T19:30'`, nil)
		b.types("#price-0", "40,50")
		b.types("#price-1", "25")
		b.faultless()
		b.press("Create show")
		b.says("Faust")
		var show string
		b.js(`location.hash.slice('#/shows/'.length)`, &show)
		_, answer := s.get("/api/v1/shows/" + show)
		for _, want := range []string{`"startsAt":"2030-07-01T17:30:00Z"`, `"amount":4050`, `"amount":2500`, `"status":"on_sale"`} {
			if !strings.Contains(answer, want) {
				t.Errorf("the show is without %s: %s", want, answer)
			}
		}

		// It is cancelled again, which asks first.
		b.press("Cancel show")
		b.faultless()
		b.press("Keep it")
		b.until("nothing is asked any more", `!document.querySelector('dialog[open]')`)
		b.press("Cancel show")
		b.press("Cancel the show")
		b.says("buyers are being paid back")
	})

	t.Run("who may do less is shown less, on a phone in the dark too", func(t *testing.T) {
		key := strings.TrimSpace(s.keyOf(t, "checkin"))
		b := s.organiser(t, key)
		b.run(emulation.SetDeviceMetricsOverride(360, 740, 2, true), emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}))
		b.until("there is the door and nothing else", `[...document.querySelectorAll('nav a')].map(a => a.textContent).join() === 'Shows,Door'`)
		b.visit("door/" + theatre)
		b.says("are in")
		b.until("nothing is wider than the phone", `document.documentElement.scrollWidth <= 360`)
		b.faultless()
	})
	s.terminate()
	s.wait()
}

// keyOf makes an API key with a scope.
func (s *shop) keyOf(t *testing.T, scope string) string {
	t.Helper()
	for _, env := range s.cmd.Env {
		if dir, ok := strings.CutPrefix(env, "DATA_DIR="); ok {
			return must(t, "apikey", "create", "--name=test", "--scopes="+scope, "--data-dir="+dir)
		}
	}
	t.Fatal("where is its data?")
	return ""
}
