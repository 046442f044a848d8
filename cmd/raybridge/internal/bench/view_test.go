package bench_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/bench"
)

// A run whose time doesn't begin isn't waited for.
func TestRunsThatCantBeResumed(t *testing.T) {
	for status, fails := range map[int]bool{http.StatusOK: false, http.StatusServiceUnavailable: true} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		err := bench.Attend(t.Context(), strings.NewReader("API on there\npage on "+server.URL+"/\n"), os.Getpid())
		server.Close()
		assert.Equal(t, fails, err != nil, "%d: %v", status, err)
	}
	assert.Error(t, bench.Attend(t.Context(), strings.NewReader("API on there\n"), os.Getpid()), "it has no page")
}

// Sensors of the measured rig compute all the time. A rig that is written otherwise isn't measured as one.
func TestRigsThatComputeAllTheTime(t *testing.T) {
	rig, err := bench.AlwaysOn("sensors:\n  - id: a\n  - id: b\n")
	require.NoError(t, err)
	assert.Equal(t, "sensors:\n  - always: true\n    id: a\n  - always: true\n    id: b\n", rig)
	_, err = bench.AlwaysOn("sensors: [{id: a}]")
	assert.Error(t, err)
}
