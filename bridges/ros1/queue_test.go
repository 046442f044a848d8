package ros1_test

import (
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/bridges/ros1"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/sensors/sample"
)

// The topic's policy decides what a full queue does, and what is lost is counted.
func TestPolicies(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	for _, policy := range []flow.Policy{flow.DropOldest, flow.DropNewest} {
		t.Run(policy.String(), func(t *testing.T) {
			const messages = 40
			p := newPeer(t)
			p.master.start(t)
			p.master.published = nil
			b := openBridge(t, p.master.address()+"?messages=4&host=127.0.0.1", nil)
			publish, err := bridges.AddPublisher[*sample.Image](b, bridges.Topic{Name: "/image", Policy: policy})
			require.NoError(t, err)
			require.NoError(t, b.Connect(t.Context()))
			bridgetest.Connected(t, b)
			conn, err := dialTopic("/image", p.master.uris()["/raybridge"])
			require.NoError(t, err)
			defer conn.Close()
			_, err = subscribeTo(conn, conn, "/image", "*", "*")
			require.NoError(t, err)
			eventually(t, func() bool { return b.Listening("/image") }, "subscribed")
			image := &sample.Image{Width: 1024, Height: 1024, Step: 4096, Encoding: sample.Encoding32FC1, Data: make([]byte, 4<<20)}
			for seq := range messages { // the subscriber reads nothing
				image.Seq = uint64(seq)
				require.NoError(t, publish(t.Context(), image))
			}
			row := b.Statistics().Topics[0]
			dropped := row.Drops[flow.CausePeerSlow]
			assert.Positive(t, dropped)
			var seqs []uint32
			for range messages - int(dropped) {
				data, err := readFrame(conn)
				require.NoError(t, err)
				seqs = append(seqs, binary.LittleEndian.Uint32(data))
			}
			require.NoError(t, b.Close(t.Context()))
			_, err = readFrame(conn)
			assert.ErrorIs(t, err, io.EOF, "that was all")
			assert.EqualValues(t, 0, seqs[0])
			last := seqs[len(seqs)-1]
			if policy == flow.DropOldest {
				assert.EqualValues(t, messages-1, last)
			} else {
				assert.EqualValues(t, len(seqs)-1, last)
			}
			row = b.Statistics().Topics[0]
			assert.EqualValues(t, messages, row.Messages+row.Drops.Total())
		})
	}
}

func TestPublishingAllocatesNothing(t *testing.T) {
	p := startPeer(t)
	p.master.published = nil
	b := openBridge(t, p.master.address()+"?host=127.0.0.1", nil) // which asks the master but once a second
	require.NoError(t, b.Connect(t.Context()))
	publish, err := bridges.AddPublisher[*sample.Image](b, bridges.Topic{Name: "/image"})
	require.NoError(t, err)
	eventually(t, func() bool { return p.master.uris()["/raybridge"] != "" }, "registered")
	conn, err := dialTopic("/image", p.master.uris()["/raybridge"])
	require.NoError(t, err)
	defer conn.Close()
	_, err = subscribeTo(conn, conn, "/image", "*", "*")
	require.NoError(t, err)
	eventually(t, func() bool { return b.Listening("/image") }, "subscribed")
	image := &sample.Image{Width: 64, Height: 64, Step: 256, Encoding: sample.Encoding32FC1, Data: make([]byte, 64*256)}
	require.NoError(t, publish(t.Context(), image))
	frame, err := readFrame(conn)
	require.NoError(t, err)
	frame = make([]byte, 4+len(frame))
	ctx := t.Context()
	send := func() {
		if err := publish(ctx, image); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(conn, frame); err != nil {
			t.Fatal(err)
		}
	}
	for range 100 {
		send()
	}
	allocations := testing.AllocsPerRun(200, send)
	if !raceEnabled { // the detector makes pools forget
		assert.Zero(t, allocations)
	}
}

func FuzzReadHeader(f *testing.F) {
	for _, seed := range tcprosRubbish() {
		f.Add(seed)
	}
	f.Add(header("callerid=/a", "topic=/b", "md5sum=*", "type=*", "tcp_nodelay=1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := ros1.ReadHeader(strings.NewReader(string(data)))
		switch {
		case err == nil && h == nil:
			t.Fatal("no header and no error")
		case err != nil && !errors.Is(err, bridges.ErrProtocol) && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
			t.Fatal(err)
		}
	})
}
