package dataset

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
)

// JournalFile is where in a set its journal is: lines of JSON, the first one a Head, the others Rows.
const JournalFile = "raybridge/journal.jsonl"

// Journal is the log of a set, in the order in which it was written. It stays in the set, so that the set can be written on and
// merged. Any goroutine may read it.
type Journal struct {
	Head Head
	path string
	size int64 // bytes up to the end of the last whole row
}

// Head is the journal's first line.
type Head struct {
	// Format is the bridge's name, Version that of raybridge that began the set.
	Format  string `json:"format"`
	Version string `json:"version"`
	// Options are those that decide on what is in the set, by their keys in connection strings.
	Options map[string]string `json:"options"`
	// Splits part the scenes of a set that Merge made; the set of a recording has none.
	Splits []Split `json:"splits,omitempty"`
}

// Row is a line of the journal: a scene, or a key frame of the last scene before it. One of the two is set.
type Row struct {
	Scene *SceneRow `json:"scene,omitempty"`
	Frame *FrameRow `json:"frame,omitempty"`
}

// sound reports whether one of the two is set, and has data. A key frame comes behind a scene.
func (r *Row) sound(scenes bool) bool {
	if r.Scene != nil {
		return r.Frame == nil && len(r.Scene.Data) > 0
	}
	return scenes && r.Frame != nil && len(r.Frame.Data) > 0
}

// SceneRow is the row of a scene.
type SceneRow struct {
	// Run and Number are those of Scene.
	Run    string `json:"run"`
	Number int    `json:"number"`
	// Data is what WriteScene returned.
	Data json.RawMessage `json:"data"`
}

// FrameRow is the row of a key frame.
type FrameRow struct {
	// Number is the frame's in its scene.
	Number int `json:"number"`
	// Files are those that were written for the frame and for the sweeps before it, sorted, below the set's folder and with
	// slashes. A data file that no row names isn't part of the set.
	Files []string `json:"files"`
	// Data is what WriteFrame returned. Sweeps are what WriteSweep returned, by sensor in the rig's order and then by stamp.
	Data   json.RawMessage   `json:"data"`
	Sweeps []json.RawMessage `json:"sweeps,omitempty"`
}

// maxLine is the longest line of a journal that is read, bytes: a key frame's row has some megabytes.
const maxLine = 1 << 27

// errLine says that a line isn't one of a journal.
var errLine = fmt.Errorf("a line has more than %d bytes", maxLine)

// readLine reads a line with its end. Its errors are io.EOF, behind what there is, errLine and the file's.
func readLine(r *bufio.Reader) (line []byte, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if line = append(line, part...); len(line) > maxLine {
			return nil, errLine
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// ErrNoSet says that a folder has no journal, or one that can't be read.
var ErrNoSet = errors.New("not a set that raybridge wrote")

// OpenJournal reads the journal of the set in a folder up to its last whole row: a killed run may leave a part of another.
// Errors wrap ErrNoSet.
func OpenJournal(dir string) (*Journal, error) {
	j := &Journal{path: filepath.Join(dir, filepath.FromSlash(JournalFile))}
	f, err := os.Open(j.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w: it has no %s", dir, ErrNoSet, JournalFile)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoSet, err)
	}
	defer f.Close()
	lines := bufio.NewReaderSize(f, 1<<20)
	scenes := false
	for first := true; ; first = false {
		line, err := readLine(lines)
		var row Row
		var to any = &j.Head
		if !first {
			to = &row
		}
		whole := err == nil && json.Unmarshal(line, to) == nil && (first || row.sound(scenes))
		scenes = scenes || row.Scene != nil
		switch {
		case err != nil && !errors.Is(err, io.EOF):
			return nil, fmt.Errorf("%w: read %s: %w", ErrNoSet, j.path, err)
		case first && (!whole || j.Head.Format == ""):
			return nil, fmt.Errorf("%s: %w: %s has no head", dir, ErrNoSet, JournalFile)
		case !whole && len(bytes.TrimSpace(line)) > 0 && err == nil:
			return nil, fmt.Errorf("%s: %w: a line of %s, at byte %d, can't be read", dir, ErrNoSet, JournalFile, j.size)
		case err != nil:
			return j, nil
		}
		j.size += int64(len(line))
	}
}

// empty reports whether the journal has no key frame.
func (j *Journal) empty() bool {
	for row, err := range j.Rows() {
		if err != nil || row.Frame != nil {
			return false
		}
	}
	return true
}

// cut takes rows of scenes without key frames off the end, in memory alone, and returns how many key frames there are.
func (j *Journal) cut() (frames int, err error) {
	var end int64 // of the last key frame, or of the head
	for row, err := range j.from(0) {
		if err != nil {
			return 0, err
		}
		if end == 0 && row.Scene != nil {
			end = row.at
		}
		if row.Frame != nil {
			frames++
			end = row.end
		}
	}
	if end > 0 {
		j.size = end
	}
	return frames, nil
}

// Rows reads the rows, as often as it is asked. It ends with an error where the file can't be read.
func (j *Journal) Rows() iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for row, err := range j.from(0) {
			if !yield(row.Row, err) {
				return
			}
		}
	}
}

// placedRow is a row that lies between two bytes of the journal.
type placedRow struct {
	Row
	at, end int64
}

// from is Rows from the row on that begins at a byte; 0 is the first one.
func (j *Journal) from(at int64) iter.Seq2[placedRow, error] {
	return func(yield func(placedRow, error) bool) {
		fail := func(err error) { yield(placedRow{}, fmt.Errorf("read journal: %w", err)) }
		f, err := os.Open(j.path)
		if err != nil {
			fail(err)
			return
		}
		defer f.Close()
		lines := bufio.NewReaderSize(io.NewSectionReader(f, at, j.size-at), 1<<20)
		for {
			line, err := readLine(lines)
			if errors.Is(err, io.EOF) {
				return
			}
			row := placedRow{at: at}
			head := at == 0
			if err == nil && !head {
				err = json.Unmarshal(line, &row.Row)
			}
			if err != nil {
				fail(err)
				return
			}
			at += int64(len(line))
			row.end = at
			if !head && !yield(row, nil) {
				return
			}
		}
	}
}
