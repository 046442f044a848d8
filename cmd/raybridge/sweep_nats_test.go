package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestCredentialsFile: all users of the machine reading it is a warning, its group isn't.
func TestCredentialsFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	key, err := nkeys.CreateUser()
	require.NoError(t, err)
	seed, err := key.Seed()
	require.NoError(t, err)
	for mode, warned := range map[fs.FileMode]bool{0o600: false, 0o440: false, 0o644: true, 0o604: true} {
		f := natsFlags{url: "nats://127.0.0.1:4222", creds: filepath.Join(dir, mode.String())}
		require.NoError(t, os.WriteFile(f.creds, seed, 0o600))
		require.NoError(t, os.Chmod(f.creds, mode))
		var said strings.Builder
		_, err := f.access(newLog(&said, false))
		require.NoError(t, err)
		assert.Equal(t, warned, strings.Contains(said.String(), "chmod 600"), mode)
	}
}

// TestWrongUseOfNATS: flags that can't be meant, and secrets where everybody can read them.
func TestWrongUseOfNATS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "secret", "hunter2")
	secret := filepath.Join(dir, "secret")
	for want, args := range map[string][]string{
		"give --nats URL":                    {"worker", "--out", dir},
		"no sweep was planned there":         {"worker", "--out", dir, "--nats", "nats://127.0.0.1:4222", "--patience", "0"},
		"give it by a file or a variable":    {"worker", "--out", dir, "--nats", "nats://user:hunter2@127.0.0.1:4222"},
		"neither a user's .creds file nor":   {"worker", "--out", dir, "--nats", "nats://127.0.0.1:4222", "--nats-creds", secret},
		"not a fingerprint":                  {"worker", "--out", dir, "--nats", "tls://127.0.0.1:4222", "--nats-fingerprint", "sha256:12"},
		"so give tls://":                     {"worker", "--out", dir, "--nats", "nats://127.0.0.1:4222", "--nats-fingerprint", "sha256:12"},
		"start raybridge sweep worker":       {"run", "--out", dir, "--listen", "0", "--jobs", "2"},
		"give one of both":                   {"run", "--out", dir, "--listen", "0", "--nats", "nats://127.0.0.1:4222"},
		"--metrics: it is for workers":       {"run", "--out", dir, "--metrics", "0"},
		"--lease 1ms: want a second or more": {"run", "--out", dir, "--listen", "0", "--lease", "1ms"},
		"--patience: want 0 or more":         {"worker", "--out", dir, "--nats", "nats://127.0.0.1:4222", "--patience", "-1s"},
	} {
		o := call(t, append([]string{"sweep"}, args...)...)
		assert.Equal(t, exitUsage, o.code, args)
		assert.Contains(t, o.err, want)
		assert.NotContains(t, o.err, "hunter2")
	}
}
