package bridgebench

import (
	"context"
	"io"

	library "github.com/foxglove/mcap/go/mcap"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/internal/encode"
	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/mcap"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/sensors/sample"
)

// mcapContest records pictures to nowhere, with zstd, as the bridge does by default.
func mcapContest() Contest {
	return Contest{
		Name: "mcap_1080p", Plain: "the library's writer with the same options and bytes that were encoded before", Want: 0.9,
		bridge: func(ctx context.Context) (way, error) {
			f := mcap.Factory{Open: func(string) (bridges.Target, error) { return nowhere{}, nil }}
			w, err := openBridge[*sample.Image](ctx, connected{f, "a.mcap", 1}, image())
			if err != nil {
				return nil, err
			}
			w.arrived = func(context.Context, int64) error { return nil } // when the publisher has returned
			return w.begin(ctx)
		},
		plain: func(context.Context) (way, error) { return newMcapWriter() },
	}
}

// nowhere is a file that takes everything.
type nowhere struct{}

func (nowhere) Write(p []byte) (int, error)         { return len(p), nil }
func (nowhere) Seek(at int64, _ int) (int64, error) { return at, nil }
func (nowhere) Truncate(int64) error                { return nil }
func (nowhere) Close() error                        { return nil }

// mcapWriter is the library's own writer.
type mcapWriter struct {
	w       *library.Writer
	message library.Message
}

func newMcapWriter() (*mcapWriter, error) {
	var m ros.Image
	if err := rossample.Image(&m, image()); err != nil {
		return nil, err
	}
	data := encode.CDR.Encoder().Append(nil, &m)
	w, err := library.NewWriter(io.Writer(nowhere{}), &library.WriterOptions{IncludeCRC: true, Chunked: true, Compression: library.CompressionZSTD, CompressionLevel: library.CompressionLevelFastest})
	if err != nil {
		return nil, err
	}
	if err := w.WriteHeader(&library.Header{}); err != nil {
		return nil, err
	}
	if err := w.WriteChannel(&library.Channel{ID: 1, Topic: "/topic", MessageEncoding: "cdr"}); err != nil {
		return nil, err
	}
	return &mcapWriter{w: w, message: library.Message{ChannelID: 1, Data: data}}, nil
}

func (m *mcapWriter) size() int64 { return int64(len(m.message.Data)) }

func (m *mcapWriter) send(ctx context.Context, messages int) error {
	for range messages {
		if err := m.w.WriteMessage(&m.message); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (m *mcapWriter) close() error { return m.w.Close() }
