package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image/png"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/uuid"
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

// unfold opens what is folded away.
func (b *tab) unfold(summary string) {
	b.t.Helper()
	find := fmt.Sprintf(`[...document.querySelectorAll('summary')].find(s => s.offsetParent && s.textContent.trim() === %q)`, summary)
	b.until("there is "+summary, find)
	b.js(fmt.Sprintf(`!%s.parentElement.open && %s.click()`, find, find), nil)
}

// fills sets fields of a form.
func (b *tab) fills(values map[string]string) {
	b.t.Helper()
	for field, value := range values {
		b.until("there is "+field, fmt.Sprintf(`document.querySelector(%q)?.offsetParent`, field))
		b.js(fmt.Sprintf(`(f => { f.value = %q; f.dispatchEvent(new Event('change', {bubbles: true})) })(document.querySelector(%q))`, value, field), nil)
	}
}

// reach presses Tab until the keyboard is at something.
func (b *tab) reach(what, is string) {
	b.t.Helper()
	for range 80 {
		var there bool
		b.js(`(() => { let a = document.activeElement; while (a?.shadowRoot?.activeElement) a = a.shadowRoot.activeElement; return Boolean(a && (`+is+`)) })()`, &there)
		if there {
			return
		}
		b.run(chromedp.KeyEvent(kb.Tab))
	}
	b.t.Fatalf("Tab never reached %s", what)
}

// button is what reach looks for.
func button(words string) (string, string) {
	return "the button " + words, fmt.Sprintf(`a.matches('button, a') && a.textContent.trim().startsWith(%q)`, words)
}

// menu waits until the menu has these and nothing else.
func (b *tab) menu(items string) {
	b.t.Helper()
	b.until("the menu is "+items, fmt.Sprintf(`[...document.querySelectorAll('nav a')].map(a => a.textContent).join() === %q`, items))
}

// sees has the camera see a picture from the next time on that it is used.
func sees(t *testing.T, camera string, picture []byte) {
	t.Helper()
	seen, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		t.Fatal(err)
	}
	const width, height = 640, 480
	at := seen.Bounds()
	left, top := (width-at.Dx())/2, (height-at.Dy())/2
	grey := bytes.Repeat([]byte{0xc0}, width*height)
	for y := range at.Dy() {
		for x := range at.Dx() {
			r, _, _, _ := seen.At(at.Min.X+x, at.Min.Y+y).RGBA()
			grey[(top+y)*width+left+x] = byte(r >> 8)
		}
	}
	frame := slices.Concat([]byte("FRAME\n"), grey, bytes.Repeat([]byte{0x80}, width*height/2))
	film := slices.Concat([]byte(fmt.Sprintf("YUV4MPEG2 W%d H%d F10:1 Ip A1:1 C420jpeg\n", width, height)), frame, frame)
	if err := os.WriteFile(camera, film, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestTheOrganisersPagesInABrowser(t *testing.T) {
	t.Parallel()
	camera := filepath.Join(t.TempDir(), "camera.y4m")
	s := openShop(t, chromedp.Flag("use-fake-device-for-media-stream", true), chromedp.Flag("use-fake-ui-for-media-stream", true),
		chromedp.Flag("use-file-for-fake-video-capture", camera))
	theatre := s.demo(t, "demo-theatre-tonight")

	t.Run("a key is typed once, and no script can read what stands for it", func(t *testing.T) {
		b := s.open(t, "/organiser/")
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
		b.until("River UI takes the same browser", `document.title.includes('River') && document.querySelector('#root').innerText.includes('Queues')`)
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
		b.until("the title says what is shown", `document.title.startsWith('Hamlet')`)
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
		// The rest of the block is found by why it is there, and put back.
		b.unfold("What is kept off sale")
		b.says("camera platform")
		b.faultless()
		b.js(`[...document.querySelector('rowlock-map').shadowRoot.querySelectorAll('button')].find(b => b.textContent.trim() === 'Map').click()`, nil)
		b.shot("organiser-show.png")
		b.press("Choose them")
		b.says("1 chosen")
		b.press("Put back on sale")
		b.says("1 seat on sale again")
		b.says("Nothing is.")
		b.figure("Blocked", 0)
		b.press("Pause sales")
		b.says("Sales are paused")
		b.press("Resume sales")
		b.says("on sale again")
	})

	t.Run("standing places are sold and given away, and seats as another ticket type", func(t *testing.T) {
		b := s.organiser(t, devKey)
		arena := s.demo(t, "demo-arena-standing")
		b.visit("shows/" + arena)
		plus := theMap + `?.shadowRoot.querySelector('.stepper button:last-of-type')`
		b.until("there are areas", plus)
		b.js(plus+`.click(), `+plus+`.click()`, nil)
		b.says("2 chosen")
		b.fills(map[string]string{"#method": "comp"})
		b.press("Give away")
		b.says("Tickets issued")
		b.until("two tickets that cost nothing", `document.querySelectorAll('tbody tr').length === 2 && [...document.querySelectorAll('tbody .number')].every(c => c.innerText === '¥0')`)

		show := s.show(t, rows(2, 8), "")
		s.admin(t, "PATCH", "/shows/"+show, "application/json", `{"prices":[{"category":"Stalls","amount":2500},{"category":"Stalls","ticketType":"child","amount":1000}]}`)
		b.visit("shows/" + show)
		b.listed(3)
		b.fills(map[string]string{"#ticket-type": "child", "#reference": "till 1"})
		b.press("Sell for €30.00")
		b.says("child")
		b.says("€30.00")
	})

	t.Run("the waiting room is opened, steered, watched and closed", func(t *testing.T) {
		show := s.show(t, rows(3, 10), "")
		b := s.organiser(t, devKey)
		b.visit("shows/" + show)
		b.says("Places can be held without a turn")
		b.unfold("Its settings")
		b.fills(map[string]string{"#ratePerMinute": "1", "#sizeMax": "500"})
		b.faultless()
		b.press("Save")
		b.says("Saved.")
		b.press("Open the waiting room")
		b.says("The waiting room is open.")
		b.figure("Let in a minute", 1)

		guests := make([]string, 3)
		for i := range guests {
			code, answer := s.send("POST", "/api/v1/sessions", "", nil)
			var session struct{ Token string }
			if err := json.Unmarshal([]byte(answer), &session); err != nil || code != 201 {
				t.Fatal(code, answer, err)
			}
			guests[i] = session.Token
		}
		as := func(guest int, method, path, body string) (int, string) {
			return s.send(method, "/api/v1"+path, body, map[string]string{
				"Authorization": "Bearer " + guests[guest], "Content-Type": "application/json", "Idempotency-Key": strings.ReplaceAll(uuid.NewString(), "-", ""),
			})
		}
		hold := fmt.Sprintf(`{"showId":%q,"seats":[{"label":"Stalls-A-1"}]}`, show)
		if code, answer := as(0, "POST", "/reservations", hold); code != 403 || !strings.Contains(answer, "QUEUE_TOKEN_REQUIRED") {
			t.Errorf("without a turn: %d %s", code, answer)
		}
		for i := range guests {
			if code, answer := as(i, "POST", "/shows/"+show+"/queue", ""); code != 201 {
				t.Fatal(code, answer)
			}
		}
		b.says("of 3 who joined")
		b.until("at one a minute most of them wait", `[...document.querySelectorAll('.figures div')].some(d => d.querySelector('dt').textContent === 'Wait' && parseInt(d.querySelector('dd').textContent) >= 2)`)
		b.faultless()
		b.js(`document.querySelector('organiser-queue').scrollIntoView()`, nil)
		b.shot("organiser-queue.png")
		// Staff sells past it.
		b.listed(1)
		b.fills(map[string]string{"#reference": "till 1"})
		b.press("Sell for")
		b.says("Tickets issued")
		b.visit("shows/" + show)
		b.unfold("Its settings")
		b.fills(map[string]string{"#ratePerMinute": "60000"})
		b.press("Save")
		b.figure("Were called", 3)
		b.figure("Wait", 0)
		b.press("Close the waiting room")
		b.says("it was closed by hand")
		if code, answer := as(1, "POST", "/reservations", strings.Replace(hold, "A-1", "B-1", 1)); code != 201 {
			t.Errorf("with the waiting room closed: %d %s", code, answer)
		}
		settings := s.admin(t, "GET", "/shows/"+show+"/queue", "", "")["settings"].(map[string]any)
		if settings["ratePerMinute"] != 60000.0 || settings["sizeMax"] != 500.0 || settings["admissionSeconds"] != 120.0 {
			t.Errorf("%v", settings)
		}
	})

	t.Run("times, limits and prices of a show are changed, and nobody's change is lost", func(t *testing.T) {
		show := s.show(t, rows(3, 10), "")
		b := s.organiser(t, devKey)
		b.visit("shows/" + show)
		b.unfold("Times, limits and prices")
		b.until("the form is there", `document.querySelector('#price-0')?.value === '25.00'`)
		b.press("Save")
		b.says("Nothing was changed.")
		b.unfold("Another ticket type")
		b.fills(map[string]string{
			"#price-0": "30", "#type": "child", "#type-price": "12,50", "#most": "3", "#each": "7", "#until": "1440", "#note": "No late admission.",
			"#starts": "2030-07-01T20:00", "#ends": "2030-07-01T22:30", "#sales-start": "2029-12-01T10:00",
		})
		b.faultless()
		b.js(`document.querySelector('organiser-terms').scrollIntoView()`, nil)
		b.shot("organiser-terms.png")
		b.press("Save")
		b.says("Saved.")
		have := s.admin(t, "GET", "/shows/"+show, "", "")
		for field, want := range map[string]any{
			"maxPlacesPerReservation": 3.0, "maxPlacesPerCustomer": 7.0, "note": "No late admission.", "holdSeconds": 900.0,
			"startsAt": "2030-07-01T18:00:00Z", "endsAt": "2030-07-01T20:30:00Z", "salesStartAt": "2029-12-01T09:00:00Z",
		} {
			if have[field] != want {
				t.Errorf("%s is %v, want %v", field, have[field], want)
			}
		}
		if prices := fmt.Sprint(have["prices"]); !strings.Contains(prices, "amount:3000 category:Stalls ticketType:standard") || !strings.Contains(prices, "amount:1250 category:Stalls ticketType:child") {
			t.Error(prices)
		}
		if terms := fmt.Sprint(have["cancellation"]); terms != "map[refundPercent:100 untilMinutesBeforeStart:1440]" {
			t.Error(terms)
		}
		// What is emptied is taken away; a ticket type without a price goes.
		b.until("the form has what was saved", `document.querySelector('#price-1')?.value`)
		b.js(`[...document.querySelectorAll('[id^=price-]')].find(f => f.value === '12.50').value = ''`, nil)
		b.fills(map[string]string{"#each": "", "#until": "", "#sales-start": "", "#note": ""})
		b.press("Save")
		b.until("one price is left", `document.querySelectorAll('[id^=price-]').length === 1 && document.querySelector('#price-0').value === '30.00'`)
		have = s.admin(t, "GET", "/shows/"+show, "", "")
		for _, field := range []string{"maxPlacesPerCustomer", "cancellation", "salesStartAt", "note"} {
			if have[field] != nil {
				t.Errorf("%s is still %v", field, have[field])
			}
		}
		s.admin(t, "PATCH", "/shows/"+show, "application/json", `{"maxPlacesPerReservation":9}`)
		b.fills(map[string]string{"#most": "4"})
		b.press("Save")
		b.says("Nothing was saved")
		if have := s.admin(t, "GET", "/shows/"+show, "", ""); have["maxPlacesPerReservation"] != 9.0 {
			t.Errorf("somebody's change is lost: %v", have["maxPlacesPerReservation"])
		}

		stock := s.admin(t, "POST", "/shows", "application/json", `{"event":{"kind":"other","title":"Museum"},"startsAt":"2035-06-01T10:00:00+02:00","timeZone":"Europe/Vienna","currency":"EUR",
			"areas":[{"name":"Visitors","capacity":30,"prices":[{"amount":500}]}],"publish":true}`)["showId"].(string)
		b.visit("shows/" + stock)
		b.unfold("Times, limits and prices")
		b.fills(map[string]string{"#area-0": "35"})
		b.press("Save")
		b.says("Saved.")
		b.figure("Free", 35)
		b.faultless()
	})

	t.Run("a booking is found by name, checked in, moved through, and given back", func(t *testing.T) {
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
		// The answer is lost on its way, again and again. The ticket is scanned
		// once more: it is the same scan, and not somebody else's.
		b.js(`(() => { const real = window.fetch; window.lost = 0; window.fetch = async (...a) => { const r = await real(...a); if (!(a[0].url ?? a[0]).includes('check-in')) return r; window.lost++; throw new TypeError('lost') }; window.mended = () => (window.fetch = real) })()`, nil)
		b.types("#code", strings.ToLower(ticket["code"].(string))+kb.Enter)
		b.says("scan it again")
		b.js(`window.mended()`, nil)
		b.types("#code", strings.ToLower(ticket["code"].(string))+kb.Enter)
		b.says("Let in")
		b.says("1 of 1 are in")
		b.shot("organiser-door.png")
		// A hand scanner does not wait for answers: none of its codes is lost.
		b.js(`(() => { const real = window.fetch; window.fetch = async (...a) => { await new Promise(d => setTimeout(d, 300)); return real(...a) }; window.mended = () => (window.fetch = real) })()`, nil)
		b.types("#code", "first"+kb.Enter+"second"+kb.Enter+"third"+kb.Enter)
		b.until("four scans are behind the last", `document.querySelectorAll('.scans li').length === 4`)
		b.js(`window.mended()`, nil)

		// What the camera sees is the ticket's own QR code.
		code, picture := s.send("GET", "/api/v1/tickets/"+ticket["ticketId"].(string)+"/qr.png?size=400", "", map[string]string{"X-API-Key": devKey})
		if code != 200 {
			t.Fatal(code, picture)
		}
		sees(t, camera, []byte(picture))
		b.press("Use the camera")
		b.says("Was here before")
		b.says("First at")
		b.faultless()
		b.shot("organiser-camera.png")
		b.run(emulation.SetDeviceMetricsOverride(360, 740, 2, true))
		b.until("a phone shows what came of it beside what the camera sees", `(() => {
			document.querySelector('video').scrollIntoView({block: 'end'})
			const [told, seen] = ['.verdict', 'video'].map(e => document.querySelector(e).getBoundingClientRect())
			return told.top >= 0 && told.bottom < seen.top && seen.bottom < innerHeight + 2
		})()`)
		b.shot("organiser-phone.png")
		b.run(emulation.SetDeviceMetricsOverride(1280, 900, 1, false))
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

	t.Run("a plan's problems are on its map, and shows are made of it", func(t *testing.T) {
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
		b.unfold("Add a venue")
		b.types("#venue-name", "Odeon")
		b.types("#city", "Wien")
		b.types("#country", "at")
		b.fills(map[string]string{"#zone": "Europe/Vienna"})
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
		b.fills(map[string]string{"#starts": "2030-07-01T19:30", "#ends": "2030-07-01T22:00", "#hold": "600"})
		b.types("#price-0", "40,50")
		b.types("#price-1", "25")
		b.faultless()
		b.press("Create show")
		b.says("Faust")
		var show string
		b.js(`location.hash.slice('#/shows/'.length)`, &show)
		_, answer := s.get("/api/v1/shows/" + show)
		for _, want := range []string{`"startsAt":"2030-07-01T17:30:00Z"`, `"endsAt":"2030-07-01T20:00:00Z"`, `"holdSeconds":600`, `"amount":4050`, `"amount":2500`, `"status":"on_sale"`} {
			if !strings.Contains(answer, want) {
				t.Errorf("the show is without %s: %s", want, answer)
			}
		}

		// The same event once more, as a draft, which is published then.
		event := s.admin(t, "GET", "/shows/"+show, "", "")["eventId"].(string)
		b.visit("plans")
		b.until("its venue is there", `[...document.querySelectorAll('#venue option')].some(o => o.textContent.includes('Odeon'))`)
		choose := func(field, words string) {
			t.Helper()
			option := fmt.Sprintf(`[...document.querySelectorAll('%s option')].find(o => o.textContent.includes(%q))`, field, words)
			b.until(field+" has "+words, option)
			b.js(fmt.Sprintf(`document.querySelector(%q).value = %s.value, document.querySelector(%q).dispatchEvent(new Event('change', {bubbles: true}))`, field, option, field), nil)
		}
		choose("#venue", "Odeon")
		choose("#hall", "Saal")
		choose("#plan", "version 1")
		choose("#event", "Faust")
		b.fills(map[string]string{"#starts": "2030-07-02T19:30", "#price-0": "40", "#price-1": "20"})
		b.js(`document.querySelector('[name=publish]').click()`, nil)
		b.press("Create show")
		b.says("Faust draft")
		b.seated() // strangers see nothing of it, its organiser all
		b.press("Publish")
		b.says("It is on sale")
		var second string
		b.js(`location.hash.slice('#/shows/'.length)`, &second)
		if second == show || s.admin(t, "GET", "/shows/"+second, "", "")["eventId"] != event {
			t.Errorf("%s is not the second show of the event %s", second, event)
		}

		// It is cancelled again, which asks first.
		b.press("Cancel show")
		b.faultless()
		b.press("Keep it")
		b.until("nothing is asked any more", `!document.querySelector('dialog[open]')`)
		b.press("Cancel show")
		b.press("Cancel the show")
		b.says("buyers are being paid back")
		b.visit("")
		b.fills(map[string]string{"#from": "2030-07-02"})
		b.until("only what is from that day on is listed", `document.querySelectorAll('tbody tr').length > 0 && [...document.querySelectorAll('tbody tr')].every(r => !r.innerText.includes('Hamlet'))`)
	})

	t.Run("everything can be done with the keyboard alone", func(t *testing.T) {
		show := s.show(t, rows(2, 8), "")
		b := s.open(t, "/organiser#/shows/"+show)
		b.until("there is a form", `document.querySelector('#credential')`)
		b.reach("the key", `a.id === 'credential'`)
		b.run(chromedp.KeyEvent(devKey + kb.Enter))
		b.figure("Free", 16)
		b.until("the keyboard is at what is new", `document.activeElement.matches('main')`)
		press := func(words, says string) {
			t.Helper()
			b.reach(button(words))
			b.run(chromedp.KeyEvent(kb.Enter))
			b.says(says)
		}
		press("Pause sales", "Sales are paused")
		b.until("the keyboard is not lost", `document.activeElement !== document.body`)
		press("Resume sales", "on sale again")
		b.reach("the seats", `a.getAttribute('role') === 'gridcell'`)
		b.run(chromedp.KeyEvent(" "), chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(" "))
		b.says("2 chosen")
		b.reach("why", `a.id === 'reason'`)
		b.run(chromedp.KeyEvent("for the press" + kb.Enter))
		b.says("2 seats off sale")
		press("Open the waiting room", "The waiting room is open.")
		b.reach("its settings", `a.matches('summary') && a.textContent === 'Its settings'`)
		b.run(chromedp.KeyEvent(kb.Enter))
		b.reach("the rate", `a.id === 'ratePerMinute'`)
		b.js(`document.activeElement.select()`, nil)
		b.run(chromedp.KeyEvent("50" + kb.Enter))
		b.figure("Let in a minute", 50)
		b.js(`document.querySelector('main').focus()`, nil)
		press("Cancel show", "Cancel this show?")
		b.until("what does no harm is nearest", `document.activeElement.textContent === 'Keep it'`)
		b.run(chromedp.KeyEvent(kb.Escape))
		b.until("nothing is asked any more", `!document.querySelector('dialog[open]')`)
		b.js(`document.querySelector('.skip').focus()`, nil)
		press("Bookings", "found")
		b.js(`document.querySelector('.skip').focus()`, nil)
		b.reach(button("Sign out"))
		b.run(chromedp.KeyEvent(kb.Enter))
		b.until("nobody is signed in", `document.querySelector('#credential')`)
	})

	t.Run("names that are code are names", func(t *testing.T) {
		const evil = `<img src=x onerror=window.harmed=1>`
		venue := s.admin(t, "POST", "/venues", "application/json", fmt.Sprintf(`{"name":%q,"city":%q,"country":"AT","timeZone":"Europe/Vienna"}`, evil, evil))["venueId"]
		hall := s.admin(t, "POST", "/halls", "application/json", fmt.Sprintf(`{"venueId":%q,"name":%q}`, venue, evil))["hallId"]
		csv := strings.ReplaceAll("section,row,seat,category\nE,E,1,E\nE,E,2,E\n", "E", evil)
		plan := s.admin(t, "POST", fmt.Sprintf("/halls/%s/plans?format=csv", hall), "text/csv", csv)["planId"]
		show := s.admin(t, "POST", "/shows", "application/json", fmt.Sprintf(`{"event":{"kind":"concert","title":%q},"planId":%q,"startsAt":%q,"currency":"EUR","note":%q,
			"prices":[{"category":%q,"amount":2500}],"publish":true}`, evil, plan, time.Now().AddDate(0, 1, 0).Format(time.RFC3339), evil, evil))["showId"].(string)
		label := evil + "-" + evil + "-"
		hold := s.admin(t, "POST", "/reservations", "application/json", fmt.Sprintf(`{"showId":%q,"customerId":%q,"seats":[{"label":%q}]}`, show, evil, label+"1"))["reservationId"]
		booking := s.admin(t, "POST", fmt.Sprintf("/reservations/%s/confirm", hold), "application/json", fmt.Sprintf(
			`{"paymentMethod":"cash","paymentReference":%q,"buyer":{"name":%q,"email":"e@example.org"}}`, evil, evil))["bookingId"].(string)
		s.admin(t, "POST", "/shows/"+show+"/seats/block", "application/json", fmt.Sprintf(`{"seats":[{"label":%q}],"reason":%q}`, label+"2", evil))

		b := s.organiser(t, devKey)
		b.js(`window.broken = [], addEventListener('securitypolicyviolation', e => window.broken.push(e.violatedDirective)), 0`, nil)
		for _, view := range []string{"", "shows/" + show, "bookings", "bookings/" + booking, "door/" + show} {
			b.visit(view)
			b.says(evil)
		}
		b.visit("shows/" + show)
		b.unfold("What is kept off sale")
		b.unfold("Times, limits and prices")
		b.seated()
		b.listed(1)
		b.says(label)
		path := filepath.Join(t.TempDir(), "evil.csv")
		if err := os.WriteFile(path, []byte(csv+strings.ReplaceAll("E,E,1,E\n", "E", evil)), 0o600); err != nil {
			t.Fatal(err)
		}
		b.visit("plans")
		b.until("its venue is there", `document.querySelectorAll('#venue option').length > 1`)
		b.fills(map[string]string{"#venue": venue.(string)})
		b.until("its hall is there", `document.querySelectorAll('#hall option').length > 1`)
		b.fills(map[string]string{"#hall": hall.(string)})
		b.until("a document can be chosen", `document.querySelector('#file')`)
		b.run(chromedp.SetUploadFiles("#file", []string{path}, chromedp.ByQuery))
		b.says("1 problem")
		b.says(evil)
		var harm string
		b.js(`JSON.stringify([window.harmed ?? 0, window.broken, document.querySelectorAll('main img').length])`, &harm)
		if harm != "[0,[],0]" {
			t.Errorf("a name was taken for code: %s", harm)
		}
	})

	t.Run("who may do less is shown less, and the server gives them no more", func(t *testing.T) {
		for _, c := range []struct{ scopes, menu, shown, hidden string }{
			{"checkin", "Shows,Door", "Free", "Kept,Pause sales,Choose places,Its settings,Times, limits"},
			{"sales:read", "Shows,Bookings", "Kept", "Pause sales,Choose places,Its settings,Times, limits"},
			{"refunds", "Shows,Bookings", "Free", "Kept,Pause sales,Choose places"},
			{"reservations:staff", "Shows,Bookings", "keep seats off sale", "sell here,Kept,Pause sales"},
			{"reservations:staff,bookings:confirm", "Shows,Bookings", "sell here", "Kept,Pause sales"},
			{"catalogue:write", "Shows,New show", "Pause sales", "Kept,sell here"},
			{"ops", "Shows,Jobs", "Free", "Kept,Pause sales,Choose places"},
		} {
			b := s.organiser(t, strings.TrimSpace(s.keyOf(t, c.scopes)))
			b.menu(c.menu)
			b.visit("shows/" + theatre)
			b.says("Stalls")
			b.says(c.shown)
			b.says("Waiting room")
			for _, words := range strings.Split(c.hidden, ",") {
				b.until(c.scopes+" is not shown "+words, fmt.Sprintf(`!document.body.innerText.includes(%q)`, words))
			}
			b.until("nothing went wrong", `![...document.querySelectorAll('.trouble')].some(p => !p.hidden)`)
		}
	})

	t.Run("no page has a fault, in the dark and on a phone", func(t *testing.T) {
		b := s.organiser(t, devKey)
		booking := s.admin(t, "GET", "/bookings?limit=1", "", "")["bookings"].([]any)[0].(map[string]any)["bookingId"].(string)
		for _, view := range []struct{ at, says string }{
			{"", "Hamlet"}, {"shows/" + theatre, "Waiting room"}, {"shows/" + s.demo(t, "demo-arena-standing"), "Waiting room"},
			{"bookings", "found"}, {"bookings/" + booking, "Story"}, {"door/" + theatre, "are in"}, {"plans", "1. Where"}, {"nowhere", "Nothing here"},
		} {
			for _, scheme := range []string{"light", "dark"} {
				width := map[string]int64{"light": 1280, "dark": 360}[scheme]
				b.run(emulation.SetDeviceMetricsOverride(width, 800, 1, false),
					emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
				b.visit(view.at)
				b.says(view.says)
				b.js(`document.querySelectorAll('main details').forEach(d => (d.open = true))`, nil)
				b.until("nothing is wider than the window", `document.documentElement.scrollWidth <= innerWidth`)
				b.faultless()
				name := strings.NewReplacer("/", "-", theatre, "theatre", booking, "one").Replace(view.at)
				b.shot(fmt.Sprintf("every/%s-%s.png", name, scheme))
			}
		}
	})

	t.Run("a session that ends elsewhere ends here", func(t *testing.T) {
		b := s.organiser(t, devKey)
		b.visit("shows/" + theatre)
		b.says("Kept")
		b.run(network.ClearBrowserCookies())
		b.says("The session is over: sign in again.")
		b.types("#credential", devKey+kb.Enter)
		b.says("Kept") // where they were
	})
	s.terminate()
	s.wait()
}

// keyOf makes an API key with scopes.
func (s *shop) keyOf(t *testing.T, scopes string) string {
	t.Helper()
	for _, env := range s.cmd.Env {
		if dir, ok := strings.CutPrefix(env, "DATA_DIR="); ok {
			return must(t, "apikey", "create", "--name=test", "--scopes="+scopes, "--data-dir="+dir)
		}
	}
	t.Fatal("where is its data?")
	return ""
}
