package pipeline

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestWaiting: a wait is told after a while, in the log once for each thing and in the summary as long as it lasts.
func TestWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		w := waiting{log: slog.New(slog.NewTextHandler(&log, nil))}
		pass := func(d time.Duration) {
			time.Sleep(d)
			synctest.Wait()
		}
		w.await("")
		for range 3 { // each frame comes soon
			w.await("a")
			pass(waitTold - 1)
			assert.Empty(t, w.text())
			w.await("")
		}
		pass(time.Hour)
		assert.Empty(t, log.String())
		for range 2 {
			w.await("a")
			pass(waitTold)
			assert.Equal(t, "a", w.text())
			w.await("")
			assert.Empty(t, w.text())
		}
		assert.Equal(t, 1, strings.Count(log.String(), "for=a"))
		w.await("b")
		pass(waitTold)
		assert.Contains(t, log.String(), "for=b")
		w.await("")
	})
}
