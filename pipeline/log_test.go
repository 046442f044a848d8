package pipeline_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/pipeline"
	"github.com/raybridge/raybridge/pipeline/carry"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
)

// TestTheLogGoesToNetworks: with its attributes, and where it went before; not into
// recordings, which are to be the same in every run.
func TestTheLogGoesToNetworks(t *testing.T) {
	for name, kind := range map[string]bridges.Kind{"network": bridges.KindNetwork, "file": bridges.KindFile} {
		t.Run(name, func(t *testing.T) {
			to := &logged{peer: peer{kind: kind}}
			var text lockedText
			p := newScripted(t, &script{}, pipeline.Config{
				Bridges: bridges.MustRegistry(to), Mode: pipeline.Realtime, Log: slog.New(slog.NewTextHandler(&text, nil)),
			})
			sensor := addScripted(t, p, plainID, "probe", "100")
			first := true
			hear(t, sensor, func(sensors.Tick, *sample.Imu) {
				if first {
					first = false
					panic("for the log")
				}
			})
			require.NoError(t, p.AddBridge(t.Context(), carry.BridgeConfig{Spec: "test:x"}))
			end := inBackground(t, p)
			to.await(t, "a clock", func(got []delivery) bool { return len(got) > 3 })
			if kind == bridges.KindNetwork {
				require.Eventually(t, func() bool { return len(to.read()) > 0 }, 20*time.Second, time.Millisecond)
				line := to.read()[0]
				assert.Contains(t, line.Message, "a listener panicked sensor=probe panic=for the log")
				assert.Equal(t, slog.LevelError, line.Level)
				assert.True(t, strings.HasSuffix(line.File, "listen.go"), line.File)
				assert.Positive(t, line.Line)
			}
			require.Eventually(t, func() bool { return strings.Contains(text.String(), "a listener panicked") }, 20*time.Second, time.Millisecond)
			end()
			if kind == bridges.KindFile {
				assert.Empty(t, to.read())
			}
		})
	}
}

// logged is a bridge that carries the log, too.
type logged struct {
	peer
	mu    sync.Mutex
	lines []sample.Log
}

func (l *logged) Register(to *bridges.Plugin) error {
	return errors.Join(l.peer.Register(to),
		bridges.RegPublisher(to, "Log", func(bridges.Instance, *bridges.PublishedTopic) (bridges.Publisher[*sample.Log], error) {
			return l.write, nil
		}))
}

func (l *logged) write(_ context.Context, m *sample.Log) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, *m)
	return nil
}

func (l *logged) read() []sample.Log {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]sample.Log(nil), l.lines...)
}

// lockedText is text that several goroutines write.
type lockedText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
