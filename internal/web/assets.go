package web

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
)

// Asset serves a script or style sheet of our own pages, which web/ builds into
// assets/. Browsers ask again each time whether it is still the same, so that a
// page never meets the script of an older server.
func Asset(name string) http.Handler {
	packed, err := files.ReadFile("assets/" + name + ".gz")
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(packed)
	tag := `"` + hex.EncodeToString(sum[:8]) + `"`
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("ETag", tag)
		h.Set("Cache-Control", "no-cache")
		if strings.Contains(r.Header.Get("If-None-Match"), tag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		serveGzip(w, r, name, packed)
	})
}
