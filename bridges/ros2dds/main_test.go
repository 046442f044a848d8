//go:build cgo && ros2dds

package ros2dds_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/ros2dds"
)

// patience is how long a test waits for what others do.
const patience = 2 * time.Minute

// loopback keeps the library to the loopback interface, in the tests and in the peers
// that they start.
const loopback = `<CycloneDDS><Domain id="any"><General><Interfaces><NetworkInterface address="127.0.0.1" multicast="false"/></Interfaces>` +
	`<AllowMulticast>false</AllowMulticast></General>` +
	`<Discovery><ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>20</MaxAutoParticipantIndex>` +
	`<Peers><Peer Address="127.0.0.1"/></Peers></Discovery></Domain></CycloneDDS>`

func TestMain(m *testing.M) {
	for key, value := range map[string]string{"CYCLONEDDS_URI": loopback, "ROS_DOMAIN_ID": "", "ROS_LOCALHOST_ONLY": ""} {
		if err := os.Setenv(key, value); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// freeDomain returns the id of a domain that no other test on the machine uses until
// this one ends.
func freeDomain(t *testing.T) int {
	t.Helper()
	var config net.ListenConfig
	for id := 1; id <= 200; id++ {
		lock, err := config.Listen(context.Background(), "unix", fmt.Sprintf("@raybridge-dds-domain-%d", id))
		if err != nil {
			continue
		}
		t.Cleanup(func() { assert.NoError(t, lock.Close()) })
		return id
	}
	require.Fail(t, "no domain is free")
	return 0
}

// open returns a bridge that isn't connected, and closes it at the test's end.
func open(t *testing.T, domain int, options string, log *slog.Logger) *bridges.Bridge {
	t.Helper()
	b, err := bridges.MustRegistry(ros2dds.Factory{}).Open(fmt.Sprintf("ros2dds:%d?%s", domain, options), bridges.Env{Log: log})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, b.Close(context.Background())) })
	return b
}

// connect returns a bridge in a domain.
func connect(t *testing.T, domain int, options string) *bridges.Bridge {
	t.Helper()
	b := open(t, domain, options, nil)
	require.NoError(t, b.Connect(t.Context()))
	require.Equal(t, bridges.Connected, b.Status(), "%v", b.Diagnosis().LastError)
	return b
}

// journal takes log lines, from any goroutine.
type journal struct {
	mu   sync.Mutex
	text strings.Builder // guarded by mu
}

func (j *journal) Write(line []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(line)
}

func (j *journal) logger() *slog.Logger { return slog.New(slog.NewTextHandler(j, nil)) }

// lines returns those that contain a text.
func (j *journal) lines(text string) []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var list []string
	for line := range strings.Lines(j.text.String()) {
		if strings.Contains(line, text) {
			list = append(list, line)
		}
	}
	return list
}
