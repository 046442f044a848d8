package osi

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/foxglove/mcap/go/mcap"
)

// magic is how an MCAP file begins.
const magic = "\x89MCAP0\r\n"

// recording reads an MCAP file in its order: the messages of the first channel that has a world.
type recording struct {
	*trace
	lexer    *mcap.Lexer
	warn     func(string, ...any)
	schemas  map[uint16]string
	channels map[uint16]*mcap.Channel
	channel  *mcap.Channel // that is read, nil before its first message
	ignored  map[uint16]bool
	record   []byte
	ended    bool
}

func newRecording(t *trace, warn func(string, ...any)) (*recording, error) {
	lexer, err := mcap.NewLexer(t.reader, &mcap.LexerOptions{
		ValidateChunkCRCs: true, MaxRecordSize: mostMessage, MaxDecompressedChunkSize: mostMessage,
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return &recording{
		trace: t, lexer: lexer, warn: warn,
		schemas: map[uint16]string{}, channels: map[uint16]*mcap.Channel{}, ignored: map[uint16]bool{},
	}, nil
}

func (r *recording) next(ctx context.Context) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.count++
	for {
		kind, record, err := r.token()
		if err != nil {
			return nil, err
		}
		if cap(record) > cap(r.record) {
			r.record = record
		}
		message, err := r.take(kind, record)
		if message != nil || err != nil {
			return message, err
		}
	}
}

// token reads a record. The library panics at some lengths that it doesn't check.
func (r *recording) token() (kind mcap.TokenType, record []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", ErrDamaged, p)
		}
	}()
	kind, record, err = r.lexer.Next(r.record)
	switch {
	case errors.Is(err, io.EOF) && r.ended:
		return kind, nil, io.EOF
	case errors.Is(err, io.EOF):
		return kind, nil, fmt.Errorf("%w: the file ends without an end record: %w", ErrDamaged, io.ErrUnexpectedEOF)
	case err != nil:
		return kind, nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return kind, record, nil
}

// take takes a record in. It returns the message of one that has a world.
func (r *recording) take(kind mcap.TokenType, record []byte) (message []byte, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%w: %w", ErrDamaged, err)
		}
	}()
	switch kind {
	case mcap.TokenSchema:
		s, err := mcap.ParseSchema(record)
		if err != nil {
			return nil, err
		}
		r.schemas[s.ID] = s.Name
	case mcap.TokenChannel:
		c, err := mcap.ParseChannel(record)
		if err != nil {
			return nil, err
		}
		r.channels[c.ID] = c
	case mcap.TokenMessage:
		var m mcap.Message
		if err := m.PopulateFrom(record, false); err != nil {
			return nil, err
		}
		if r.reads(m.ChannelID) {
			return m.Data, nil
		}
	case mcap.TokenDataEnd, mcap.TokenFooter:
		r.ended = true
	}
	return nil, nil
}

// reads reports whether messages of a channel are read.
func (r *recording) reads(id uint16) bool {
	c := r.channels[id]
	switch {
	case c == nil || r.ignored[id]:
		return false
	case r.channel != nil && c.ID == r.channel.ID:
		return true
	}
	name := r.schemas[c.SchemaID]
	if r.channel == nil && c.MessageEncoding == "protobuf" && (name == "osi3.GroundTruth" || name == "osi3.SensorView") {
		r.channel = c
		return true
	}
	r.ignored[id] = true
	r.warn("a channel of the MCAP file is left out", "topic", c.Topic, "schema", name)
	return false
}

func (r *recording) place() string { return fmt.Sprintf("%s: message %d", r.path, r.count) }

// Close closes the file and frees what unpacks it.
func (r *recording) Close() error {
	r.lexer.Close()
	return r.trace.Close()
}
