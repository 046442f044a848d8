package mcap

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"

	"github.com/foxglove/mcap/go/mcap"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/raybridge/raybridge/memory"
)

// Errors of reading a recording; test them with errors.Is.
var (
	// ErrNotMCAP: the file doesn't begin as an MCAP file does.
	ErrNotMCAP = errors.New("not an MCAP file")
	// ErrDamaged: a record contradicts itself, or its checksum.
	ErrDamaged = errors.New("recording is damaged")
	// ErrUnknownType: there is no sample for the message's type.
	ErrUnknownType = errors.New("no sample for messages of this type")
)

// A record is its opcode, the length of its content in 8 bytes, and the content (MCAP
// specification, "Records").
const recordHeader = 1 + 8

// messageHeader is the size of a Message record's content before its data.
const messageHeader = 2 + 4 + 8 + 8

// eachRecord calls visit for each record in data, with the place where it begins.
func eachRecord(data []byte, visit func(op mcap.OpCode, at int, content []byte) error) error {
	for at := 0; at < len(data); {
		if len(data)-at < recordHeader {
			return fmt.Errorf("record at byte %d: %w", at, io.ErrUnexpectedEOF)
		}
		length := binary.LittleEndian.Uint64(data[at+1:])
		if length > uint64(len(data)-at-recordHeader) {
			return fmt.Errorf("record at byte %d: %w", at, io.ErrUnexpectedEOF)
		}
		end := at + recordHeader + int(length)
		if err := visit(mcap.OpCode(data[at]), at, data[at+recordHeader:end]); err != nil {
			return err
		}
		at = end
	}
	return nil
}

// parse reads a record's content with the library's function for it. Those of some
// records panic where a length is longer than the content.
func parse[T any](name string, read func([]byte) (*T, error), content []byte) (record *T, err error) {
	defer func() {
		if p := recover(); p != nil {
			record, err = nil, fmt.Errorf("%w: %s: %v", ErrDamaged, name, p)
		}
	}()
	if record, err = read(content); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrDamaged, name, err)
	}
	return record, nil
}

// mostUncompressed is the largest chunk that is read, bytes.
const mostUncompressed = 1 << 30

// usualDensity is how many bytes one byte of a chunk mostly stands for at most. Memory for
// more is taken only as the chunk turns out to have it.
const usualDensity = 20

// longestWindow is the window that zstd's encoders use at most, bytes.
const longestWindow = 128 << 20

// unpacker uncompresses chunks. One goroutine uses it at a time.
type unpacker struct {
	zstd   *zstd.Decoder
	memory *memory.Budget
}

func (u *unpacker) close() {
	if u.zstd != nil {
		u.zstd.Close()
	}
}

// unpack returns the records of a Chunk record, in memory of their own, as many bytes as the
// chunk's UncompressedSize says. They are taken from the budget, and the caller's to give back.
func (u *unpacker) unpack(content []byte) (*mcap.Chunk, []byte, error) {
	chunk, err := parse("chunk", mcap.ParseChunk, content)
	if err != nil {
		return nil, nil, err
	}
	size := chunk.UncompressedSize
	if size > mostUncompressed {
		return nil, nil, fmt.Errorf("%w: chunk of %d bytes is to have %d", ErrDamaged, len(chunk.Records), size)
	}
	if err := u.memory.Take("a chunk", int64(size)); err != nil {
		return nil, nil, err
	}
	records, err := u.checked(chunk)
	if err != nil {
		u.memory.Give(int64(size))
		return nil, nil, err
	}
	return chunk, records, nil
}

// checked uncompresses a chunk and holds the result against what the chunk says of it.
func (u *unpacker) checked(chunk *mcap.Chunk) ([]byte, error) {
	size := chunk.UncompressedSize
	records, err := u.uncompress(chunk, int64(size))
	if err != nil {
		return nil, fmt.Errorf("%w: chunk: %w", ErrDamaged, err)
	}
	if uint64(len(records)) != size {
		return nil, fmt.Errorf("%w: chunk has %d bytes, not %d", ErrDamaged, len(records), size)
	}
	if sum := chunk.UncompressedCRC; sum != 0 && sum != crc32.ChecksumIEEE(records) {
		return nil, fmt.Errorf("%w: chunk's checksum is wrong", ErrDamaged)
	}
	return records, nil
}

// uncompress stops where a chunk has more than the size that it says.
func (u *unpacker) uncompress(chunk *mcap.Chunk, size int64) ([]byte, error) {
	room := min(size, usualDensity*int64(len(chunk.Records))) + bytes.MinRead // for the end to be found without growing
	records := bytes.NewBuffer(make([]byte, 0, room))
	var data io.Reader = bytes.NewReader(chunk.Records)
	switch format := mcap.CompressionFormat(chunk.Compression); format {
	case mcap.CompressionNone:
	case mcap.CompressionZSTD:
		if err := u.resetZstd(data); err != nil {
			return nil, err
		}
		data = u.zstd
	case mcap.CompressionLZ4:
		data = lz4.NewReader(data)
	default:
		return nil, fmt.Errorf("unknown compression %q", format)
	}
	_, err := records.ReadFrom(io.LimitReader(data, size+1))
	return records.Bytes(), err
}

// resetZstd has the decoder read a chunk.
func (u *unpacker) resetZstd(data io.Reader) error {
	if u.zstd != nil {
		return u.zstd.Reset(data)
	}
	var err error
	u.zstd, err = zstd.NewReader(data, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(longestWindow))
	return err
}

// rawMessage is a message as a file has it.
type rawMessage struct {
	channel              uint16
	sequence             uint32
	logTime, publishTime uint64
	data                 []byte
}

// parseMessage reads the content of a Message record, which the message shares.
func parseMessage(content []byte) (rawMessage, error) {
	if len(content) < messageHeader {
		return rawMessage{}, fmt.Errorf("%w: message of %d bytes", ErrDamaged, len(content))
	}
	return rawMessage{
		channel: binary.LittleEndian.Uint16(content), sequence: binary.LittleEndian.Uint32(content[2:]),
		logTime: binary.LittleEndian.Uint64(content[6:]), publishTime: binary.LittleEndian.Uint64(content[14:]),
		data: content[messageHeader:],
	}, nil
}

// nanoseconds is a time of a file; later ones than fit are the latest.
func nanoseconds(t uint64) int64 { return int64(min(t, math.MaxInt64)) }

// leastWindow is how many bytes are read at once at least.
const leastWindow = 64 << 10

// window gives the bytes of a file at offsets that mostly grow, each byte read a few times at
// most. One goroutine uses it at a time.
type window struct {
	file   io.ReaderAt
	size   int64 // of the file
	at     int64 // where data lies in it
	data   []byte
	memory *memory.Budget // data's capacity is taken from it
}

// free gives back what the window took.
func (w *window) free() {
	w.memory.Give(int64(cap(w.data)))
	w.data = nil
}

// loaded returns what is in memory from an offset on: at least so many bytes, fewer only at the
// file's end. They hold until the next call.
func (w *window) loaded(from, least int64) ([]byte, error) {
	least = min(least, w.size-from)
	if from < w.at || from+least > w.at+int64(len(w.data)) {
		length := min(max(least+least/4, leastWindow), w.size-from)
		if int64(cap(w.data)) < length {
			w.free()
			if err := w.memory.Take("a record", length); err != nil {
				return nil, err
			}
			w.data = make([]byte, length)
		}
		w.at, w.data = from, w.data[:length]
		if n, err := w.file.ReadAt(w.data, from); int64(n) < length {
			w.data = w.data[:0]
			return nil, fmt.Errorf("read recording: %w", err)
		}
	}
	return w.data[from-w.at:], nil
}

// bytes returns so many bytes from an offset on, as loaded does.
func (w *window) bytes(from, length int64) ([]byte, error) {
	data, err := w.loaded(from, length)
	return data[:min(length, int64(len(data)))], err
}
