package web

import (
	"net/http"
	"strings"

	"github.com/rowlock/rowlock/internal/boxoffice"
)

// Problems serves the page that each problem document's type points to, at
// /problems/{code}, and the list of all of them at /problems. status gives the
// HTTP status of a code, which only the API knows.
func Problems(status func(boxoffice.Code) int) http.Handler {
	type entry struct {
		boxoffice.CodeInfo
		Slug   string
		Status int
	}
	all := make([]entry, len(boxoffice.Codes))
	for i, c := range boxoffice.Codes {
		all[i] = entry{c, strings.ToLower(strings.ReplaceAll(string(c.Code), "_", "-")), status(c.Code)}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /problems", func(w http.ResponseWriter, _ *http.Request) {
		render(w, "problems.html", all)
	})
	mux.HandleFunc("GET /problems/{slug}", func(w http.ResponseWriter, r *http.Request) {
		for _, e := range all {
			if e.Slug == r.PathValue("slug") {
				render(w, "problems.html", []entry{e})
				return
			}
		}
		http.Redirect(w, r, "/problems", http.StatusFound)
	})
	return mux
}
