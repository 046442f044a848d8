package bridges_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
)

func TestListenAddress(t *testing.T) {
	for text, want := range map[string]string{
		"":               "127.0.0.1:7740",
		"7741":           "127.0.0.1:7741",
		"0":              "127.0.0.1:0",
		":7742":          ":7742",
		"0.0.0.0:7742":   "0.0.0.0:7742",
		"localhost:7742": "localhost:7742",
		"[::1]:7742":     "[::1]:7742",
	} {
		got, err := bridges.ListenAddress(text, "127.0.0.1:7740")
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for text, message := range map[string]string{
		"localhost":    `bad address "localhost": need PORT or HOST:PORT, such as 127.0.0.1:7740`,
		"::1:7742":     "need PORT or HOST:PORT",
		"65536":        `bad address "65536": the port is a number from 0, for any free one, to 65535`,
		"99999999999":  "the port is a number",
		"here:http":    "the port is a number",
		"127.0.0.1:":   "the port is a number",
		"127.0.0.1:-1": "the port is a number",
		"-1":           "need PORT or HOST:PORT",
	} {
		_, err := bridges.ListenAddress(text, "127.0.0.1:7740")
		require.ErrorIs(t, err, bridges.ErrConnectionString, text)
		assert.ErrorContains(t, err, message, text)
	}
}
