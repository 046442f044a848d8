package stream_test

import (
	"encoding/binary"
	"io"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/stream"
	"github.com/raybridge/raybridge/sensors/sample"
)

// FuzzGreeting reads anything as a greeting. What is one comes to the same bytes when
// it is written again and read again.
func FuzzGreeting(f *testing.F) {
	for _, b := range []string{helloAll, helloNone, welcome, "RBSTREAM\x02\x00\x03\x00\x16\x00\x00\x00\x00\x00"} {
		f.Add([]byte(b), true)
		f.Add([]byte(b), false)
	}
	f.Fuzz(func(t *testing.T, b []byte, fromClient bool) {
		first, err := stream.Reencode(b, fromClient)
		if err != nil {
			return
		}
		second, err := stream.Reencode(first, fromClient)
		require.NoError(t, err)
		require.Equal(t, first, second)
	})
}

// FuzzRequest reads anything as a client's frame.
func FuzzRequest(f *testing.F) {
	for _, b := range []string{
		emptyFrame + "\x01" + "\x00\x00\x00\x00\x00\x00\x00\x00",
		"\x03\x00\x00\x00" + "\x00\x00\x00\x06" + "\x00\x00\x00\x00" + "\x03\x00\x00\x00" + "\x01\x00*",
		"\x03\x00\x00\x00" + "\x00\x00\x00\x07" + "\x00\x00\x00\x00" + "\x03\x00\x00\x00" + "\x01\x00a",
	} {
		f.Add([]byte(b))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		first, err := stream.ReadRequest(b)
		if err != nil || first == nil {
			return
		}
		second, err := stream.ReadRequest(first)
		require.NoError(t, err)
		require.Equal(t, first, second)
	})
}

// FuzzReceive has a client receive anything after its welcome: messages, compressed ones
// and control frames. It takes no more memory than it is allowed, and gives all back.
func FuzzReceive(f *testing.F) {
	const largest = 1 << 20
	for _, b := range receivable(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		_, memory, err := stream.Received(b, largest)
		require.Error(t, err, "it ends at the latest where the bytes do")
		require.LessOrEqual(t, memory, int64(64<<20), "what the queue may hold")
	})
}

// receivable is one of each thing that a server sends.
func receivable(t testing.TB) [][]byte {
	message, blank := messageOf(t, speed(3)), messageOf(t, &sample.Image{Height: 1, Step: 10_000, Data: make([]byte, 10_000)})
	encoder, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	defer encoder.Close()
	packed := encoder.EncodeAll(blank, nil)
	return [][]byte{
		framed(1, 0, 0, len(message), message), framed(1, 1, 0, len(blank), packed), framed(9, 0, 0, len(message), message),
		framed(0, 0, 1, 0, nil),
		framed(0, 0, 2, 32, []byte("\x02\x00\x00\x00\x00\x01\x00\x00"+"\x01\x00b"+"\x00\x00\x00\x00"+"\x03\x00abc"+"\x03\x00cdr"+"\x00\x00"+"\x01\x00\x00\x00S")),
		framed(0, 0, 3, 8, []byte("\x06\x00\x00\x01\x00a\x00\x00")),
		framed(0, 0, 4, 14, []byte("\x01\x00"+"\x01\x00a"+"\x07\x00\x00\x00\x00\x00\x00\x00"+"\x00")),
		framed(0, 0, 5, 7, []byte("\x07\x00\x03\x00end")),
	}
}

// framed is a frame of the protocol, written from its document.
func framed(id uint16, flags, control byte, plain int, payload []byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(payload)))
	b = append(binary.LittleEndian.AppendUint16(b, id), flags, control)
	b = binary.LittleEndian.AppendUint32(b, 0)
	b = binary.LittleEndian.AppendUint32(b, uint32(plain))
	return append(b, payload...)
}

// Each of the fuzz test's seeds is what it says: a message is taken, control frames are
// understood, a goodbye is one.
func TestWhatAServerSendsIsReceived(t *testing.T) {
	for i, want := range []int{1, 1, 0, 0, 0, 0, 0, 0} {
		b := receivable(t)[i]
		n, _, err := stream.Received(b, 1<<20)
		require.Equal(t, want, n, "frame %d", i)
		if i == 7 {
			require.ErrorIs(t, err, stream.ErrServerClosed)
			continue
		}
		require.ErrorIs(t, err, io.EOF, "frame %d", i)
	}
}

// A compressed message that is longer than its frame says is refused after so many bytes:
// 32 KiB on the wire don't become a gigabyte.
func TestCompressedBombIsRefused(t *testing.T) {
	encoder, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	defer encoder.Close()
	bomb := encoder.EncodeAll(make([]byte, 256<<20), nil)
	require.Less(t, len(bomb), 64<<10)
	for _, plain := range []int{200, 1 << 20} {
		n, memory, err := stream.Received(framed(1, 1, 0, plain, bomb), 1<<20)
		require.ErrorIs(t, err, stream.ErrMalformed)
		require.Zero(t, n)
		require.LessOrEqual(t, memory, int64(1<<20), "what the frame says, no more")
	}
	_, _, err = stream.Received(framed(1, 1, 0, 256<<20, bomb), 1<<20)
	require.ErrorIs(t, err, stream.ErrTooLarge)
}
