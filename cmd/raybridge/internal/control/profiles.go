package control

import (
	"net/http"
	"net/http/pprof"
)

// profilesPath is the list of the program's profiles, which are below it.
const profilesPath = "/debug/pprof/"

// serveProfiles adds Go's profiles of the program to the routes. A profile costs the program time, so that no other
// site's page may start one: the guard lets GET requests of such pages in, since other answers cost nothing.
func (h *handler) serveProfiles() {
	for path, serve := range map[string]http.HandlerFunc{
		"": pprof.Index, "cmdline": pprof.Cmdline, "profile": pprof.Profile, "symbol": pprof.Symbol, "trace": pprof.Trace,
	} {
		h.mux.HandleFunc("GET "+profilesPath+path, func(w http.ResponseWriter, r *http.Request) {
			switch site := r.Header.Get("Sec-Fetch-Site"); site { // browsers set it, and pages can't (Fetch Metadata)
			case "", "none", "same-origin":
				serve(w, r)
			default:
				reply(w, nil, refuse(http.StatusForbidden, "a %s page asks for a profile; open %s itself", site, profilesPath))
			}
		})
	}
}
