package stream_test

import (
	"bufio"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/sensors/sample"
)

// The example in Python prints what it receives, ends with the server, and says why it was
// refused.
func TestPythonExample(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3: ", err)
	}
	b := connect(t, bridges.Env{}, "127.0.0.1:0?policy=block")
	publish, err := bridges.AddPublisher[*sample.Image](b, bridges.Topic{Name: "/front"})
	require.NoError(t, err)
	const script = "../../docs/examples/pictures.py"
	address := b.Endpoints()[0].Address
	program := exec.CommandContext(t.Context(), python, script, "/front", address)
	out, err := program.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, program.Start())
	require.Eventually(t, func() bool { return b.Listening("/front") }, limit, time.Millisecond)
	lines := bufio.NewScanner(out)
	for seq, frame := range []string{"", "front", "front_optical"} {
		header := sample.Header{Seq: uint64(seq), Stamp: 1_250_000_000, FrameID: frame}
		image := &sample.Image{Header: header, Width: 4, Height: 2, Step: 12, Encoding: sample.EncodingRGB8, Data: make([]byte, 24)}
		require.NoError(t, publish(t.Context(), image))
		require.True(t, lines.Scan(), "%v", lines.Err())
		assert.Equal(t, []string{"0: 1.250000000 s, 4 x 2", "1: 1.250000000 s, 4 x 2", "2: 1.250000000 s, 4 x 2"}[seq], lines.Text())
	}
	refused, err := exec.CommandContext(t.Context(), python, script, "/rear", address).CombinedOutput()
	assert.Error(t, err)
	assert.Equal(t, "unknown stream \"/rear\"; there are: /front\n", string(refused))
	require.NoError(t, b.Close(t.Context()))
	assert.False(t, lines.Scan())
	assert.NoError(t, program.Wait())
}
