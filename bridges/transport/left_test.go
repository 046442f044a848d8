package transport

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestClientsThatFailAgainAndAgainFillNoLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text strings.Builder
		log := slog.New(slog.NewTextHandler(&text, nil))
		var j ConnectionLog
		j.Begin(log, Words{})
		for range 600 { // a minute
			j.left("10.0.0.1:5", errors.New("speaks another protocol"))
			time.Sleep(100 * time.Millisecond)
		}
		assert.Equal(t, 6, strings.Count(text.String(), "client left"), "after 0, 1, 3, 7, 15 and 31 s")
		time.Sleep(5 * time.Minute)
		text.Reset()
		j.left("10.0.0.1:6", errors.New("connection reset"))
		assert.Contains(t, text.String(), `client=10.0.0.1:6 error="connection reset" more_since=289`)
	})
}
