package mcap

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/foxglove/mcap/go/mcap"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/filefault"
)

// Recovery says what Recover kept of one file.
type Recovery struct {
	// From and To are the paths of the two files.
	From, To string
	// Complete says that the file had been finished: To is its copy.
	Complete bool
	// Damaged are the parts that couldn't be read, chunks mostly, and aren't in To. Those of
	// a file that was finished are copied with it.
	Damaged []Damage
	// Messages are in the new file; LostBytes were behind the last complete record.
	Messages, LostBytes uint64
	// Err says why nothing of a folder's file could be kept: it is ErrNotMCAP or
	// ErrDamaged, and To is empty.
	Err error
}

// Recover writes a recording that was not finished, a file or a rosbag2 folder, anew with
// all that is complete in it and the summary that readers look for; a folder gets its
// metadata.yaml. The first one stays as it is. An empty to is the same name with
// "_recovered". What to names must not be there yet. Of a folder, files of which nothing
// can be kept are left out, with Recovery.Err, as long as there are others.
func Recover(from, to string) ([]Recovery, error) { return Reading{}.Recover(from, to) }

// Recover is the function Recover.
func (o Reading) Recover(from, to string) ([]Recovery, error) {
	info, err := os.Stat(from)
	if err != nil {
		err = filefault.Explain(err)
		if split := numbered(strings.TrimSuffix(from, suffix)); len(split) > 0 && strings.HasSuffix(from, suffix) {
			err = fmt.Errorf("%w; it is split: each file is recovered by its own name, and the last, %s, is the one that a killed process left", err, split[len(split)-1])
		}
		return nil, fmt.Errorf("recover: %w", err)
	}
	if !info.IsDir() {
		if to == "" {
			to = strings.TrimSuffix(from, suffix) + "_recovered" + suffix
		}
		done, _, err := o.recoverFile(from, to)
		if err != nil {
			return nil, fmt.Errorf("recover %s: %w", from, err)
		}
		return []Recovery{done}, nil
	}
	if to == "" {
		to = filepath.Clean(from) + "_recovered"
	}
	done, err := o.recoverFolder(from, to)
	if err != nil {
		return nil, fmt.Errorf("recover %s: %w", from, err)
	}
	return done, nil
}

// recoverFolder recovers the files of a folder.
func (o Reading) recoverFolder(from, to string) ([]Recovery, error) {
	paths, err := filesBelow(from)
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(to, 0o777); err != nil {
		return nil, err
	}
	var list []Recovery
	bag, rows := &bagMetadata{version: metadataHumble}, rowTable{rows: map[string]int{}, topics: topicTable{qos: map[string]flow.QoS{}}}
	for _, path := range paths {
		name := filepath.Base(path)
		done, x, err := o.recoverFile(path, filepath.Join(to, name))
		switch {
		case errors.Is(err, ErrNotMCAP), errors.Is(err, ErrDamaged): // the others are still worth it
			list = append(list, Recovery{From: path, LostBytes: done.LostBytes, Err: err})
			continue
		case err != nil:
			return list, fmt.Errorf("%s: %w", name, err)
		}
		list = append(list, done)
		bag.addIndex(name, x, rows)
	}
	if len(bag.files) == 0 {
		return list, fmt.Errorf("none of its files has a complete record: %w", errors.Join(list[0].Err, os.Remove(to)))
	}
	if err := os.WriteFile(filepath.Join(to, metadataFile), []byte(bag.yaml()), 0o666); err != nil {
		return list, fmt.Errorf("write metadata: %w", err)
	}
	return list, nil
}

// rowTable finds the rows that a folder's description has already.
type rowTable struct {
	rows   map[string]int // by topic and type
	topics topicTable
}

// addIndex adds a file that was read.
func (m *bagMetadata) addIndex(name string, x *index, known rowTable) {
	start, end, any := x.span()
	if !any {
		start, end = 0, 0
	}
	m.files = append(m.files, bagFile{name: name, start: start, end: end, messages: x.statistics.MessageCount})
	for _, c := range x.summary.channels {
		row := bagTopic{name: c.Topic, encoding: c.MessageEncoding, qos: known.topics.qosOf(c), messages: x.messages(c.ID)}
		if s := x.schema(c.SchemaID); s != nil {
			row.wireType, row.hash = s.Name, typeHash(s.Name, s.Encoding, s.Data)
		}
		key := row.name + "\x00" + row.wireType
		if i, there := known.rows[key]; there {
			m.topics[i].messages += row.messages
			continue
		}
		known.rows[key] = len(m.topics)
		m.topics = append(m.topics, row)
	}
}

// recoverFile recovers one file and returns what it found in it.
func (o Reading) recoverFile(from, to string) (Recovery, *index, error) {
	in, err := os.Open(from)
	if err != nil {
		return Recovery{}, nil, filefault.Explain(err)
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return Recovery{}, nil, err
	}
	lost := Recovery{LostBytes: uint64(info.Size())}
	x, err := readIndex(in, info.Size(), o.Memory)
	if err != nil {
		return lost, nil, err
	}
	if x.end == int64(len(mcap.Magic)) {
		return lost, nil, fmt.Errorf("%w: the file has no complete record", ErrDamaged)
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return Recovery{}, nil, filefault.Explain(err)
	}
	if err := errors.Join(x.copyTo(out, in), out.Close()); err != nil {
		return Recovery{}, nil, errors.Join(err, os.Remove(to))
	}
	for i := range x.damaged {
		x.damaged[i].Path = from
	}
	done := Recovery{From: from, Damaged: x.damaged, To: to, Complete: x.complete, Messages: x.statistics.MessageCount}
	if !x.finished { // else a summary is behind the records
		done.LostBytes = uint64(info.Size() - x.end)
	}
	return done, x, nil
}

// copyTo writes what is complete of a file, and ends it.
func (x *index) copyTo(out io.Writer, in io.Reader) error {
	x.move()
	at, written := int64(0), int64(0)
	for _, e := range x.edits {
		if _, err := io.CopyN(out, in, e.offset-at); err != nil {
			return err
		}
		if _, err := io.CopyN(io.Discard, in, e.drop); err != nil {
			return err
		}
		written += e.offset - at
		if err := e.write(out, uint64(written)); err != nil {
			return err
		}
		written += e.length()
		at = e.offset + e.drop
	}
	if _, err := io.CopyN(out, in, x.end-at); err != nil {
		return err
	}
	if x.complete {
		return nil
	}
	return writeTail(out, uint64(written+x.end-at), x.summary)
}

// write writes the message indexes of an edit, at an offset of the new file, and notes them
// in the Chunk Index record.
func (e *edit) write(out io.Writer, base uint64) error {
	if e.chunk == nil {
		return nil
	}
	w, err := mcap.NewWriter(out, &mcap.WriterOptions{SkipMagic: true})
	if err != nil {
		return err
	}
	for _, i := range e.indexes {
		e.chunk.MessageIndexOffsets[i.ChannelID] = base + w.Offset()
		if err := w.WriteMessageIndex(i); err != nil {
			return fmt.Errorf("write message index: %w", err)
		}
	}
	e.chunk.MessageIndexLength = w.Offset()
	return nil
}

// move sets all offsets to those of the recovered file.
func (x *index) move() {
	shifts := make([]int64, len(x.edits)+1) // of what lies behind so many edits
	for i := range x.edits {
		shifts[i+1] = shifts[i] + x.edits[i].length() - x.edits[i].drop
	}
	moved := func(offset uint64) uint64 {
		behind := sort.Search(len(x.edits), func(i int) bool { return uint64(x.edits[i].offset) > offset })
		return offset + uint64(shifts[behind])
	}
	for _, c := range x.chunks {
		c.ChunkStartOffset = moved(c.ChunkStartOffset)
		for channel, offset := range c.MessageIndexOffsets {
			c.MessageIndexOffsets[channel] = moved(offset)
		}
	}
	for _, a := range x.attachments {
		a.Offset = moved(a.Offset)
	}
	for _, m := range x.metadata {
		m.Offset = moved(m.Offset)
	}
}
