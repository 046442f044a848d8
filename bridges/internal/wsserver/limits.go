package wsserver

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/raybridge/raybridge/internal/guard"
	"github.com/raybridge/raybridge/sensors/stream/fanout"
)

// ErrKept says that as much is kept for a client as may be.
var ErrKept = fanout.ErrHeld

// Hold notes that the session keeps n bytes more for the client. An error wraps ErrKept:
// they would be more than guard.KeptBytes with all else, and nothing is noted. What is held ends
// with Release, or with the client.
func (c *Client) Hold(n int) error {
	if err := c.conn.Hold(n); err != nil {
		return fmt.Errorf("%w: %d MiB", err, c.server.config.MaxControl>>20)
	}
	return nil
}

// Release notes that n bytes aren't kept any more.
func (c *Client) Release(n int) { c.conn.Release(n) }

// brief returns an error that says what err does, and no more than guard.ReasonBytes of it.
func brief(err error) error {
	text := err.Error()
	if len(text) <= guard.ReasonBytes {
		return err
	}
	return errors.New(guard.Excerpt(text, guard.ReasonBytes))
}

// firstRead is how much memory reading a message begins with.
const firstRead = 4 << 10

// readAll reads a message into buf's memory. It takes less than twice the limit for it,
// and has less than the limit besides while it grows.
func readAll(r io.Reader, buf []byte, limit int64) ([]byte, error) {
	buf = buf[:0]
	for {
		if len(buf) == cap(buf) {
			// One byte more than the limit, so that the end is found without growing.
			larger := min(max(2*cap(buf), firstRead), max(int(limit)+1, cap(buf)+bytes.MinRead))
			buf = append(make([]byte, 0, larger), buf...)
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if errors.Is(err, io.EOF) {
			return buf, nil
		}
		if err != nil {
			return buf, err
		}
	}
}
