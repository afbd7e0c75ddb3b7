package web

import "net/http"

// organiserPolicy lets the organiser's pages run their script, ask this server
// and show the camera, and nothing else.
const organiserPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; media-src 'self' blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Organiser serves the organiser's pages at /organiser: one document, whose
// script asks the API. Whoever is not signed in gets the same document, and
// nothing from the API.
func Organiser() http.Handler {
	page := struct{ Script, Style string }{Versioned("organiser.js"), Versioned("organiser.css")}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		// Nor may a window that another site opened it in reach into it.
		w.Header().Set("Cross-Origin-Opener-Policy", "same-origin")
		renderUnder(w, organiserPolicy, "organiser.html", page)
	})
}
