package bridges_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
)

func TestDialAddress(t *testing.T) {
	for text, want := range map[string]string{
		"robot":          "robot:9090",
		"robot:9091":     "robot:9091",
		"192.168.0.7":    "192.168.0.7:9090",
		"[::1]":          "[::1]:9090",
		"[::1]:9091":     "[::1]:9091",
		"[fe80::1%eth0]": "[fe80::1%eth0]:9090",
		"127.0.0.1:1":    "127.0.0.1:1",
		"robot:65535":    "robot:65535",
	} {
		got, err := bridges.DialAddress(text, 9090)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for text, message := range map[string]string{
		"":            `bad address "": no host; want HOST or HOST:PORT, such as localhost:9090 or [::1]:9090`,
		":9091":       "the host is no name or number",
		"robot:":      "the port is a number from 1 to 65535",
		"robot:0":     "the port is a number",
		"robot:65536": "the port is a number",
		"robot:http":  "the port is a number",
		"robot:-1":    "the port is a number",
		"::1":         "an IPv6 address stands in brackets",
		"::1:9090":    "an IPv6 address stands in brackets",
		"[::1":        "it can't be split into host and port",
		"[::1]9090":   "it can't be split into host and port",
		"[]":          "the host is no name or number",
		"ws://robot":  "the port is a number",
		"robot/a":     "the host is no name or number",
		"me@robot":    "the host is no name or number",
		"robot [::1]": "an IPv6 address stands in brackets",
		"two words":   "the host is no name or number",
		"robot:1:2":   "an IPv6 address stands in brackets",
	} {
		_, err := bridges.DialAddress(text, 9090)
		require.ErrorIs(t, err, bridges.ErrConnectionString, text)
		assert.ErrorContains(t, err, message, text)
	}
}
