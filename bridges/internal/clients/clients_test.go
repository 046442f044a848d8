package clients_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/clients"
	"github.com/raybridge/raybridge/flow"
)

func TestOptions(t *testing.T) {
	_, options, err := bridges.SplitOptions("?policy=block&messages=3&bytes=4&clients=5", clients.Options...)
	require.NoError(t, err)
	config, err := clients.ParseQueue(options)
	require.NoError(t, err)
	assert.Equal(t, flow.QueueConfig{Messages: 3, Bytes: 4, Policy: flow.Block}, config)
	n, err := clients.ParseMax(options, 16)
	require.NoError(t, err)
	assert.Equal(t, 5, n)
	n, err = clients.ParseMax(nil, 16)
	require.NoError(t, err)
	assert.Equal(t, 16, n)
}

func TestOptionsThatMakeNoSense(t *testing.T) {
	for _, options := range []map[string]string{{"policy": "keep_all"}, {"messages": "0"}, {"bytes": "-1"}} {
		_, err := clients.ParseQueue(options)
		assert.ErrorIs(t, err, bridges.ErrConnectionString, "%v", options)
	}
	for _, text := range []string{"", "0", "-1", "65536", "many", "1.5"} {
		_, err := clients.ParseMax(map[string]string{"clients": text}, 16)
		assert.ErrorIs(t, err, bridges.ErrConnectionString, text)
	}
}
