// Package web has the pages for people: the one where they buy, whose sources
// are in the folder web, the organiser's, that for developers, the API docs and
// the explanations of problem codes. All of it is embedded and loads nothing
// from anywhere else, so that it works with no internet and under a strict
// content security policy.
//
// The handlers know nothing of the database; cmd/api gives them what they show.
package web

import (
	"bytes"
	"compress/gzip"
	"embed"
	"html/template"
	"io"
	"log/slog"
	"net/http"
	"path"
	"strings"
)

//go:embed docs/*.gz docs/docs.html assets/*.gz pages
var files embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{"money": money, "when": when}).ParseFS(files, "pages/*.html"))

const (
	// pagePolicy lets our own pages load their style sheet and nothing else.
	pagePolicy = "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	// docsPolicy lets Stoplight Elements run: it writes style attributes, and
	// its try-it panel calls this server.
	docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

// Style serves the style sheet of the pages, at /style.css.
func Style() http.Handler {
	css, err := files.ReadFile("pages/style.css")
	if err != nil {
		panic(err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/css; charset=utf-8")
		w.Header().Set("Cache-Control", "public, max-age=300")
		w.Write(css)
	})
}

// render writes a page, or a bare 500 if its template fails.
func render(w http.ResponseWriter, page string, data any) { renderUnder(w, pagePolicy, page, data) }

// renderUnder is render with a content security policy of the page's own.
func renderUnder(w http.ResponseWriter, policy, page string, data any) {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, page, data); err != nil {
		slog.Error("page failed", "page", page, "error", err)
		http.Error(w, "This page is broken; the log says why.", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy)
	h.Set("Cache-Control", "no-store")
	w.Write(b.Bytes())
}

// Docs serves the API docs at /docs and its files below /docs/. They read the
// document at /openapi.json.
func Docs() http.Handler {
	page, err := files.ReadFile("docs/docs.html")
	if err != nil {
		panic(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /docs", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", docsPolicy)
		w.Write(page)
	})
	mux.HandleFunc("GET /docs/{file...}", func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("file")
		packed, err := files.ReadFile(path.Join("docs", name+".gz"))
		if err != nil {
			http.Redirect(w, r, "/docs", http.StatusFound)
			return
		}
		serveGzip(w, r, name, packed, "public, max-age=86400")
	})
	return mux
}

// serveGzip sends a file that is stored compressed; the rare client that
// cannot take it so gets it unpacked.
func serveGzip(w http.ResponseWriter, r *http.Request, name string, packed []byte, age string) {
	h := w.Header()
	h.Set("Content-Type", map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}[path.Ext(name)])
	h.Set("Cache-Control", age)
	h.Set("Vary", "Accept-Encoding")
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		w.Write(packed)
		return
	}
	plain, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		panic(err) // embedded, and read by a test
	}
	io.Copy(w, plain)
}
