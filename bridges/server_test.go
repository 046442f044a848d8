package bridges_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/flow"
)

func TestServerOptions(t *testing.T) {
	_, options, err := bridges.SplitOptions("?policy=block&messages=3&bytes=4&clients=5", bridges.ServerOptions...)
	require.NoError(t, err)
	config, err := bridges.ParseServer(options, 16)
	require.NoError(t, err)
	assert.Equal(t, flow.QueueConfig{Messages: 3, Bytes: 4, Policy: flow.Block}, config.Queue)
	assert.Equal(t, 5, config.MaxClients)
	config, err = bridges.ParseServer(nil, 16)
	require.NoError(t, err)
	assert.Equal(t, 16, config.MaxClients)
}

func TestServerOptionsThatMakeNoSense(t *testing.T) {
	list := []map[string]string{{"policy": "keep_all"}, {"messages": "0"}, {"bytes": "-1"}}
	for _, text := range []string{"", "0", "-1", "65536", "many", "1.5"} {
		list = append(list, map[string]string{"clients": text})
	}
	for _, options := range list {
		_, err := bridges.ParseServer(options, 16)
		assert.ErrorIs(t, err, bridges.ErrConnectionString, "%v", options)
	}
}
