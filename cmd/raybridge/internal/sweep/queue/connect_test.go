package queue

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestConnectionFaults: further tries are of use where the server has too much to do, and of none where it refuses.
func TestConnectionFaults(t *testing.T) {
	t.Parallel()
	a := &Access{URL: "nats://127.0.0.1:4222"}
	for text, want := range map[string]error{
		"nats: authentication timeout":                              ErrUnreachable,
		"nats: 'Authentication Timeout'":                            ErrUnreachable,
		"nats: authorization violation":                             ErrCredentials,
		"nats: user authentication expired":                         ErrCredentials,
		"dial tcp 127.0.0.1:4222: connect: connection refused":      ErrUnreachable,
		"nats: Authorization Violation - and authentication failed": ErrCredentials,
	} {
		assert.ErrorIs(t, a.fault(errors.New(text)), want, text)
	}
}

// TestNeededSubjects: an answer that may not be sent ends nobody.
func TestNeededSubjects(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`nats: permissions violation: Permissions Violation for Publish to "$JS.API.STREAM.CREATE.sweep_1"`: true,
		`nats: permissions violation: Permissions Violation for Subscription to "sweep.1.end"`:              true,
		`nats: permissions violation: Permissions Violation for Subscription to "_INBOX_sweep_run.x"`:       true,
		`nats: permissions violation: Permissions Violation for Publish to "_INBOX.3Tk7b.1"`:                false,
	} {
		assert.Equal(t, want, isNeeded(errors.New(text)), text)
	}
}
