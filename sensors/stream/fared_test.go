package stream_test

import (
	"errors"
	"net"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/transport"
	"github.com/raybridge/raybridge/sensors/stream"
)

// The server counts clients that were welcomed, and those that were refused or failed, with
// the reason of the last.
func TestConnections(t *testing.T) {
	s := serve(t, stream.ServerConfig{MaxClients: 1, Beat: time.Minute})
	add(t, s, "a")
	assert.Zero(t, s.Diagnosis())
	for _, c := range []struct {
		sent   string
		want   transport.Diagnosis
		reason error
	}{
		{"GET / HTTP/1.1\r\n\r\n", transport.Diagnosis{Failures: 1, Malformed: 1}, stream.ErrMagic},
		{"RBSTREAM\x02\x00\x00\x00\x02\x00\x00\x00" + "\x00\x00", transport.Diagnosis{Failures: 2, Malformed: 2}, stream.ErrVersion},
		{"RBSTREAM\x01\x00\x00\x00\x05\x00\x00\x00" + "\x01\x00" + "\x01\x00b", transport.Diagnosis{Failures: 3, Malformed: 2}, stream.ErrUnknownStream},
		{helloNone + emptyFrame + "\x63" + "\x00\x00\x00\x00\x00\x00\x00\x00", transport.Diagnosis{Connections: 1, Failures: 4, Malformed: 3}, stream.ErrMalformed},
	} {
		answer(t, s, c.sent)
		fares(t, s, c.want, c.reason)
	}
	client, err := stream.Dial(t.Context(), s.Addr().String(), stream.Options{})
	require.NoError(t, err)
	fares(t, s, transport.Diagnosis{Connections: 2, Failures: 4, Malformed: 3}, stream.ErrMalformed)
	_, err = stream.Dial(t.Context(), s.Addr().String(), stream.Options{})
	require.ErrorIs(t, err, stream.ErrTooManyClients)
	want := transport.Diagnosis{Connections: 2, Failures: 5, Malformed: 3, Refused: map[string]int64{"too_many_connections": 1}}
	fares(t, s, want, stream.ErrTooManyClients)
	client.Close()
	probe, err := net.Dial("tcp", s.Addr().String())
	require.NoError(t, err)
	require.NoError(t, probe.Close())
	closeServer(t, s) // waits for all
	fares(t, s, want, stream.ErrTooManyClients)
}

// fares waits until the server has counted so much, and checks why a connection failed last.
func fares(t *testing.T, s *stream.Server, want transport.Diagnosis, reason error) {
	t.Helper()
	require.Eventually(t, func() bool {
		got := s.Diagnosis()
		last := got.LastError
		got.LastError = nil
		return reflect.DeepEqual(got, want) && errors.Is(last, reason)
	}, limit, time.Millisecond, "%+v, not %+v", s.Diagnosis(), want)
	assert.ErrorContains(t, s.Diagnosis().LastError, "client 127.0.0.1:")
}
