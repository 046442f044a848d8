package ros2lgsvl_test

import (
	"bytes"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/ros2lgsvl"
	"github.com/raybridge/raybridge/bridges/transport"
)

func TestFrameSize(t *testing.T) {
	frame := publishFrame("/a", "body")
	for n, want := range []int{1, 5, 5, 5, 5, 11, 11, 11, 11, 11, 11, 15, 15, 15, 15, 15} {
		got, err := ros2lgsvl.FrameSize(frame[:n])
		require.NoError(t, err)
		assert.Equal(t, want, got, "of %d bytes", n)
	}
	for _, op := range []byte{0, 1, 2, 4, 'H', 0xff} {
		_, err := ros2lgsvl.FrameSize([]byte{op})
		assert.ErrorIs(t, err, bridges.ErrProtocol, "at the first byte")
	}
	_, err := ros2lgsvl.FrameSize([]byte{3, 1, 16, 0, 0})
	assert.ErrorIs(t, err, bridges.ErrProtocol, "a topic of 4097 bytes")
}

// Whatever comes, the reader neither panics nor makes frames of what isn't one; frames
// put together again are the bytes that came.
func FuzzFrames(f *testing.F) {
	f.Add([]byte{})
	f.Add(publishFrame("/points", "body"))
	f.Add(append(publishFrame("", ""), publishFrame("/a", "b")...))
	f.Add(publishFrame("/a", "b")[:7])
	f.Add([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
	f.Add([]byte{3, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		ours, theirs := net.Pipe()
		conn := transport.TCP{Size: ros2lgsvl.FrameSize, Limit: 1 << 20}.Conn(ours)
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = theirs.Write(data)
			_ = theirs.Close()
		}()
		var again []byte
		for {
			frame, err := conn.Read(t.Context())
			if err != nil {
				break
			}
			topic, body := ros2lgsvl.SplitPublish(frame)
			again = append(again, publishFrame(string(topic), string(body))...)
		}
		require.NoError(t, conn.Close())
		<-done
		require.True(t, bytes.HasPrefix(data, again))
	})
}
