package link

import (
	"context"
	"log/slog"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/sensors/stream/buffer"
	"github.com/raybridge/raybridge/sensors/stream/queue"
)

// Conn is one connection that carries whole frames. One goroutine writes, another
// reads; Close may be called by any, and ends both.
type Conn interface {
	// Write sends one frame, or fails; ctx carries the time limit.
	Write(ctx context.Context, frame []byte) error
	// Read returns the next frame, which is valid until the next call. A frame that
	// isn't of the protocol is an error that wraps bridges.ErrProtocol.
	Read(ctx context.Context) ([]byte, error)
	Close() error
}

// Config says how a link is kept. The zero value of a field stands for its default.
type Config struct {
	// Dial makes a connection, handshake included. Its errors are told once a cause; those
	// that wrap bridges.ErrTLS or bridges.ErrProtocol too are tried again.
	Dial func(ctx context.Context) (Conn, error)
	// Handle is given each frame that the peer sends, on the reading goroutine. An error
	// that wraps bridges.ErrProtocol ends the connection; any other is counted as
	// malformed and logged at most once a second. (optional; nil throws frames away)
	Handle func(frame []byte) error
	// Retry says when to dial again.
	Retry bridges.Retry
	// Queue bounds what waits for the peer; its Policy isn't used, the topics' are.
	Queue queue.Config
	// DialTimeout is for Dial (default 5 s), WriteTimeout for each frame (default 10 s).
	DialTimeout, WriteTimeout time.Duration
	// Log takes what can't be returned; nil discards it.
	Log *slog.Logger
}

// Link keeps one connection. All methods may be called from any goroutine.
type Link struct{}

// New returns a link that isn't started.
func New(config Config) *Link { panic("TODO") }

// Register has a frame written first on each connection, after those registered
// before; now too if there is a connection. The frame is the link's from then on.
func (l *Link) Register(frame []byte) { panic("TODO") }

// Start begins to dial. It is called once.
func (l *Link) Start() { panic("TODO") }

// Status returns the state; it takes no lock.
func (l *Link) Status() bridges.Status { panic("TODO") }

// Diagnosis returns how the link fared.
func (l *Link) Diagnosis() bridges.Diagnosis { panic("TODO") }

// Post queues a frame that no topic counts, such as an answer; it is copied.
// bridges.ErrNotConnected or bridges.ErrPeerSlow say that it was not taken.
func (l *Link) Post(frame []byte) error { panic("TODO") }

// Close delivers what is queued for as long as ctx allows and disconnects; what isn't
// delivered counts as dropped (bridges.CauseClosed). Both goroutines have ended when it
// returns. Closing again does nothing.
func (l *Link) Close(ctx context.Context) error { panic("TODO") }

// Topic is a topic's way to the peer.
type Topic struct{}

// NewTopic returns the way of a topic's messages, which are counted at info; its Policy
// is what a full queue does.
func (l *Link) NewTopic(info *bridges.PublishedTopic) *Topic { panic("TODO") }

// Buffer lends an empty buffer from the link's pool with room for size bytes if an
// unused one has. The caller Resets or Adopts it, and Sends or Releases it.
func (t *Topic) Buffer(size int) buffer.Buffer { panic("TODO") }

// Send queues one frame, which is the link's from then on, also on an error. An error
// (bridges.ErrNotConnected, bridges.ErrPeerSlow, bridges.ErrClosed) says that the
// message was not taken, and nothing was counted.
func (t *Topic) Send(ctx context.Context, frame buffer.Buffer) error { panic("TODO") }
