package osi

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/world"
)

// mostUnpacked is how many bytes a gzip file may unpack to.
const mostUnpacked = 1 << 30

// otherTypes are the types of messages that a trace's name may tell of, and that don't have a world. The
// names are of the form TIME_TYPE_OSI_PROTOBUF_FRAMES_NAME.osi.
var otherTypes = []string{"sd", "hvd", "tc", "tcu", "tu", "mr", "su", "svc"}

// openFile opens a trace or an MCAP file, gzip or not. What it is its first bytes tell.
func openFile(path string, o world.Options) (messages, error) {
	if info, err := os.Stat(path); err != nil {
		return nil, fault.File(err)
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file: name a trace, such as drive.osi", path)
	}
	if part := strings.Split(filepath.Base(path), "_"); len(part) >= 6 && slices.Contains(otherTypes, part[1]) {
		return nil, fmt.Errorf("%w: %s: by its name it has messages of type %s: want gt or sv", ErrDamaged, path, part[1])
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fault.File(err)
	}
	t := &trace{path: path, file: file, reader: bufio.NewReaderSize(file, 64<<10), message: store{memory: o.Memory}}
	m, err := t.recognize(o.Warn)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), file.Close())
	}
	return m, nil
}

// recognize returns what reads a file.
func (t *trace) recognize(warn func(string, ...any)) (messages, error) {
	begin, err := t.reader.Peek(8)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fault.File(err)
	}
	if slices.Equal(begin[:min(3, len(begin))], []byte{0x1f, 0x8b, 8}) {
		unpacked, err := gzip.NewReader(t.reader)
		if err != nil {
			return nil, fmt.Errorf("%w: gzip: %w", ErrDamaged, err)
		}
		t.reader = bufio.NewReaderSize(&fault.Bounded{Reader: unpacked, Left: mostUnpacked, Err: errBomb}, 64<<10)
		begin, _ = t.reader.Peek(8) // the first message has the error
	}
	if string(begin) == magic {
		return newRecording(t, warn)
	}
	return t, nil
}

// trace reads a file of messages, each after its length: four bytes, little endian.
type trace struct {
	path    string
	file    *os.File
	reader  *bufio.Reader
	begun   int64 // where the last message begins
	offset  int64 // where the next one does
	count   int64
	message store
}

func (t *trace) next(ctx context.Context) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t.count, t.begun = t.count+1, t.offset
	var head [4]byte
	n, err := io.ReadFull(t.reader, head[:])
	if errors.Is(err, io.EOF) {
		return nil, io.EOF
	}
	if err != nil {
		return nil, cut(err, n, len(head))
	}
	length := binary.LittleEndian.Uint32(head[:])
	if length > mostMessage {
		return nil, fmt.Errorf("%w: it says that it has %d bytes, the limit is %d: is it a trace of OSI?", ErrDamaged, length, mostMessage)
	}
	if err := t.read(int(length)); err != nil {
		return nil, err
	}
	t.offset += int64(len(head)) + int64(length)
	return t.message.bytes, nil
}

// piece is how much of a message is read at once. What the file doesn't have needs no memory.
const piece = 1 << 20

// read reads a message of a length.
func (t *trace) read(length int) error {
	t.message.bytes = t.message.bytes[:0]
	for have := 0; have < length; {
		more := min(length-have, piece)
		if err := t.message.grow(more); err != nil {
			return err
		}
		t.message.bytes = t.message.bytes[:have+more]
		n, err := io.ReadFull(t.reader, t.message.bytes[have:])
		have += n
		if err != nil {
			return cut(err, have, length)
		}
	}
	return nil
}

// cut says why a message can't be read of which there is a part.
func cut(err error, have, want int) error {
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: the file ends in it, after %d of %d bytes: %w", ErrDamaged, have, want, io.ErrUnexpectedEOF)
	case errors.As(err, new(*fs.PathError)):
		return fault.File(err)
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err) // of gzip
}

func (t *trace) place() string {
	return fmt.Sprintf("%s: message %d at byte %d", t.path, t.count, t.begun)
}

func (t *trace) drop(error) bool { return false }
func (t *trace) gaps() int64     { return 0 }

// Close closes the file.
func (t *trace) Close() error {
	t.message.free()
	return t.file.Close()
}

var errBomb = fmt.Errorf("it unpacks to more than %d bytes", mostUnpacked)
