package main

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestVersion(t *testing.T) {
	for stamped, want := range map[string]string{
		"v0.1.0":                               "v0.1.0",
		"v0.1.0+dirty":                         "v0.1.0+dirty",
		"v0.1.1-0.20261122153000-1a2b3c4d5e6f": "v0.1.1-0.20261122153000-1a2b3c4d5e6f",
		"(devel)":                              "dev", // a build that was told to leave git alone
		"":                                     "dev", // a test
	} {
		assert.Equal(t, want, versionOf(&debug.BuildInfo{Main: debug.Module{Version: stamped}}, true))
	}
	assert.Equal(t, "dev", versionOf(nil, false))
}
