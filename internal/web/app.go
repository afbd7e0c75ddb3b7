package web

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

// appPolicy lets the pages of web/ run their one script, which talks to this
// server only. Pictures of tickets come as data.
const appPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// bundle is a script or style sheet that make web has made.
type bundle struct {
	name   string
	packed []byte
	etag   string
}

var bundles = func() map[string]bundle {
	list, err := fs.Glob(files, "assets/*.gz")
	if err != nil {
		panic(err)
	}
	all := map[string]bundle{}
	for _, name := range list {
		packed, err := files.ReadFile(name)
		if err != nil {
			panic(err)
		}
		sum := sha256.Sum256(packed)
		name = strings.TrimSuffix(path.Base(name), ".gz")
		all[name] = bundle{name, packed, hex.EncodeToString(sum[:8])}
	}
	return all
}()

// Versioned is the address of a bundle by its content, which browsers may keep
// for ever.
func Versioned(name string) string { return "/assets/" + name + "?v=" + bundles[name].etag }

// App serves the page where people buy, at /{$}. developers: it links to the
// page for developers.
func App(developers bool) http.Handler {
	page := struct {
		Script, Style string
		Developers    bool
	}{Versioned("page.js"), Versioned("page.css"), developers}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		renderUnder(w, appPolicy, "page.html", page)
	})
}

// Assets serves the bundles of the pages, below /assets/.
func Assets() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, ok := bundles[path.Base(r.URL.Path)]
		if !ok {
			http.NotFound(w, r)
			return
		}
		age := "no-cache"
		if r.URL.Query().Get("v") == b.etag {
			age = "public, max-age=31536000, immutable"
		}
		b.serve(w, r, age)
	})
}

// Embed serves the element <rowlock-map>, at /embed.js, to the pages of
// anybody. Its address never changes, so browsers ask each time whether it has.
func Embed() http.Handler {
	b := bundles["embed.js"]
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Cross-Origin-Resource-Policy", "cross-origin")
		b.serve(w, r, "no-cache")
	})
}

// Leave serves the service worker of the page, at /leave.js: a worker is for
// what lies below its own address.
func Leave() http.Handler {
	b := bundles["leave.js"]
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'; connect-src 'self'")
		b.serve(w, r, "no-cache")
	})
}

func (b bundle) serve(w http.ResponseWriter, r *http.Request, age string) {
	// Weak: packed and unpacked have the same.
	etag := `W/"` + b.etag + `"`
	w.Header().Set("ETag", etag)
	w.Header().Set("Cache-Control", age)
	if strings.Contains(r.Header.Get("If-None-Match"), etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	serveGzip(w, r, b.name, b.packed, age)
}
