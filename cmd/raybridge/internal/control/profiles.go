package control

import (
	"net/http"
	"net/http/pprof"
)

// profilesPath is the list of the program's profiles, which are below it.
const profilesPath = "/debug/pprof/"

// serveProfiles adds Go's profiles of the program to the routes. Who asks for one keeps the program busy.
func (h *handler) serveProfiles() {
	for path, serve := range map[string]http.HandlerFunc{
		"": pprof.Index, "cmdline": pprof.Cmdline, "profile": pprof.Profile, "symbol": pprof.Symbol, "trace": pprof.Trace,
	} {
		h.mux.HandleFunc("GET "+profilesPath+path, serve)
	}
}
