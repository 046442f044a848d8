package carla

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/sensors/stream/fanout"
)

// session is one client: it sends a stream's id and then only reads.
type session struct {
	instance *instance
	client   *fanout.Client
}

// errStream: the client asked for a stream that there isn't.
var errStream = errors.New("no such stream")

// Serve subscribes the client and waits until it goes.
func (s *session) Serve(context.Context) error {
	var id [4]byte
	switch n, err := io.ReadFull(s.client.Conn(), id[:]); {
	case errors.Is(err, io.EOF):
		return nil // who looks whether the port is open
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: a stream's id of %d bytes", bridges.ErrProtocol, n)
	case err != nil:
		return fmt.Errorf("read the stream's id: %w", err)
	}
	if err := s.client.Enter(); err != nil {
		return fmt.Errorf("too many clients: %w: raise the option clients of the connection string", err)
	}
	number := binary.LittleEndian.Uint32(id[:])
	wanted := s.instance.stream(number)
	if wanted == nil {
		return fmt.Errorf("%w: %d", errStream, number)
	}
	out := wanted.out.Load()
	if out == nil {
		return bridges.ErrNotConnected
	}
	if out.Subscribe(s.client, 0) {
		s.instance.welcomed()
	}
	return s.wait()
}

// wait returns when the client has closed its side. What it sends is nothing that
// CARLA knows, and is thrown away.
func (s *session) wait() error {
	var rubbish [512]byte
	for told := false; ; {
		if err := s.client.ExtendRead(24 * time.Hour); err != nil {
			return err
		}
		n, err := s.client.Conn().Read(rubbish[:])
		if n > 0 && !told {
			told = true
			s.instance.malformed(s.client, fmt.Errorf("%w: it sends more than a stream's id", bridges.ErrProtocol))
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// Beat appends nothing: CARLA's protocol has no sign of life.
func (s *session) Beat(dst []byte, _ bool) []byte { return dst }

// Goodbye appends nothing either.
func (s *session) Goodbye(dst []byte) []byte { return dst }

// Diagnosis counts a connection for each client that got a stream, and once for each client
// that it sent what can't be read.
func (i *instance) Diagnosis() bridges.Diagnosis {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.fared
}

func (i *instance) welcomed() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.fared.Connections++
}

// left counts a client that was refused, or whose connection failed.
func (i *instance) left(c *fanout.Client, failure error) {
	if failure == nil {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.fared.Fail(named(c, failure))
	if errors.Is(failure, bridges.ErrProtocol) {
		i.fared.Malformed++
	}
}

func (i *instance) malformed(c *fanout.Client, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.fared.Malformed++
	i.fared.LastError = named(c, err)
}

// named adds which client it was.
func named(c *fanout.Client, err error) error {
	return fmt.Errorf("client %s: %w", c.Conn().RemoteAddr(), err)
}
