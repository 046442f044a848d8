// Package csv drives a world by a file of comma-separated values: a line tells where an actor is at a time.
//
// The first line names the columns, in any order. time (s), id, model, x, y (m) and yaw
// (degrees, counter-clockwise from x) are always there. z, pitch, roll, vx, vy, vz (m/s),
// length, width, height, reference and color (#rrggbb) may be. The lines are sorted by time. The
// lines of one time are a snapshot, as in package snapshot: an actor whose id it doesn't have
// leaves.
package csv

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/world"
	"github.com/raybridge/raybridge/world/snapshot"
)

// Kind is csv:FILE. Errors name the file, the line and the column. They wrap world.ErrValue, ErrTime or
// ErrDuplicate where a line is wrong.
var Kind = world.Kind{
	Name: "csv", Form: "FILE", Doc: "a file of comma-separated values: time, id, model, x, y, z, yaw and more",
	Open: open,
}

// ego is the id of the vehicle that carries the sensors.
const ego = "ego"

// longest is how many bytes a line may have.
const longest = 64 << 10

var errLong = fmt.Errorf("a line has more than %d bytes: is this a CSV file?", longest)

// source reads a file, a line ahead.
type source struct {
	path   string
	file   *os.File
	bound  fault.Bounded // of a line: the file may have no end of one
	reader *csv.Reader
	header header
	theirs bool // the ego moves as the file says
	warn   func(string, ...any)
	warned bool // of the ego
	track  *snapshot.Track

	begun int   // the line of the snapshot's first
	ahead row   // the first of the next snapshot, unless err is set
	err   error // for Next, once what was read before it is given
	// all is the snapshot that is being read, lines has its lines. If drives, driver is its ego.
	all    []world.Spawn
	lines  []int
	driver world.Spawn
	drove  int        // its line
	point  mgl64.Vec3 // see reading
	drives bool
}

// row is a line.
type row struct {
	line  int
	at    simtime.Stamp
	timed bool       // at is valid
	point mgl64.Vec3 // see reading
	world.Spawn
}

// open opens a file, and reads its header and its first row.
func open(_ context.Context, path string, o world.Options) (world.Source, error) {
	if info, err := os.Stat(path); err != nil {
		return nil, fault.File(err)
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file: name a CSV file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fault.File(err)
	}
	if o.Warn == nil {
		o.Warn = func(string, ...any) {}
	}
	s := &source{path: path, file: file, theirs: o.EgoTheirs, warn: o.Warn, track: snapshot.NewTrack(o.Start)}
	if err := s.begin(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return s, nil
}

// begin reads the header, after the byte order mark that spreadsheets write, and the first row.
func (s *source) begin() error {
	mark := make([]byte, 3)
	n, err := io.ReadFull(s.file, mark)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fault.File(err)
	}
	if mark = mark[:n]; string(mark) == "\ufeff" {
		mark = nil
	}
	s.bound = fault.Bounded{Reader: io.MultiReader(bytes.NewReader(mark), s.file), Err: errLong}
	s.reader = csv.NewReader(&s.bound)
	s.reader.ReuseRecord = true
	names, err := s.fields()
	if err == nil {
		if s.header, err = readHeader(names); err != nil {
			return fmt.Errorf("%s:%d: %w", s.path, s.line(), err)
		}
		s.ahead, err = s.read()
	}
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: %w: want a line that names the columns, and rows", s.path, world.ErrValue)
	}
	return err
}

// fields reads the next line.
func (s *source) fields() ([]string, error) {
	s.bound.Left = longest
	fields, err := s.reader.Read()
	var wrong *csv.ParseError
	switch {
	case errors.Is(err, csv.ErrFieldCount):
		return nil, fmt.Errorf("%s:%d: %w: the line has %s, the header %d", s.path, s.line(), world.ErrValue, fault.Count(len(fields), "field"), s.reader.FieldsPerRecord)
	case errors.As(err, &wrong):
		return nil, fmt.Errorf("%s:%d: %w: %w", s.path, wrong.Line, world.ErrValue, wrong.Err)
	case errors.Is(err, errLong):
		return nil, fmt.Errorf("%s: byte %d: %w: %w", s.path, s.reader.InputOffset(), world.ErrValue, err)
	case err != nil && !errors.Is(err, io.EOF):
		return nil, fault.File(err)
	}
	return fields, err
}

// line returns where the fields are that were read last.
func (s *source) line() int {
	line, _ := s.reader.FieldPos(0)
	return line
}

// read reads the next row. Of one that is wrong the time may be valid.
func (s *source) read() (row, error) {
	fields, err := s.fields()
	if err != nil {
		return row{}, err
	}
	r := reading{header: &s.header, fields: fields}
	read := row{line: s.line()}
	read.at, read.Spawn = r.row()
	read.point = r.point
	if r.err != nil {
		read.timed = r.err.column != colTime
		return read, fmt.Errorf("%s:%d: %w", s.path, read.line, r.err)
	}
	read.timed = true
	return read, nil
}

// Next returns the frame of the next snapshot. It does not wait.
func (s *source) Next(ctx context.Context, present world.State) (*world.Frame, error) {
	for s.err == nil {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		at := s.ahead.at
		if err := s.gather(); err != nil {
			s.err = err
			break
		}
		told := snapshot.Snapshot{At: at, Actors: s.all}
		if s.drives && s.driver.OnGround {
			s.driver.State.Pose.Position[2] = present.Pose.Position[2]
		}
		if s.drives && s.theirs {
			told.Ego, told.EgoPoint = &s.driver.State, s.point
		}
		s.tellOfEgo()
		frame, err := s.track.Add(told)
		if err != nil {
			s.err = s.placed(err)
			break
		}
		if frame != nil {
			return frame, nil
		}
	}
	if errors.Is(s.err, io.EOF) {
		if err := s.track.End(); !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%s: %w", s.path, err)
		}
	}
	return nil, s.err
}

// tellOfEgo tells once that the vehicle with the sensors isn't where the file has it.
func (s *source) tellOfEgo() {
	switch {
	case s.warned || s.drives == s.theirs:
		return
	case s.drives:
		s.warn("the lines of the id ego are left out: with ego: theirs in the configuration's world they move the vehicle with the sensors", "line", s.drove)
	default:
		s.warn("the file has no line of the id ego for the moment: the vehicle with the sensors stays with us until one comes", "line", s.begun)
	}
	s.warned = true
}

// gather reads the rows of an instant, and the one after them. What is wrong with that one is left for
// later, since the snapshot before it is whole.
func (s *source) gather() error {
	s.all, s.lines, s.drives, s.begun = s.all[:0], s.lines[:0], false, s.ahead.line
	for at := s.ahead.at; s.err == nil && s.ahead.at == at; {
		if err := s.take(s.ahead); err != nil {
			return err
		}
		next, err := s.read()
		switch {
		case err != nil && next.timed && next.at == at:
			return err
		case err != nil:
			s.err = err
		case next.at < at:
			s.err = fmt.Errorf("%s:%d: %w", s.path, next.line, &columnError{colTime,
				fmt.Errorf("%w: %s s comes after %s s: sort the lines by time", world.ErrTime, snapshot.Seconds(next.at), snapshot.Seconds(at))})
		}
		s.ahead = next
	}
	return nil
}

// take adds a row to the snapshot.
func (s *source) take(r row) error {
	if r.Name != ego {
		if len(s.all) == snapshot.Most {
			return fmt.Errorf("%s:%d: %w: the limit is %d", s.path, r.line, world.ErrFull, snapshot.Most)
		}
		s.all, s.lines = append(s.all, r.Spawn), append(s.lines, r.line)
		return nil
	}
	if s.drives {
		return fmt.Errorf("%s:%d: %w", s.path, r.line, &columnError{colID, fmt.Errorf("%q: %w", ego, world.ErrDuplicate)})
	}
	s.driver, s.drove, s.point, s.drives = r.Spawn, r.line, r.point, true
	return nil
}

// placed says in which line an actor is at fault.
func (s *source) placed(err error) error {
	var of *world.ActorError
	if !errors.As(err, &of) {
		return fmt.Errorf("%s:%d: %w", s.path, s.begun, err)
	}
	c := colReference
	switch {
	case errors.Is(err, world.ErrDuplicate):
		c = colID
	case errors.Is(err, snapshot.ErrHeight):
		c = colZ
	}
	return fmt.Errorf("%s:%d: %w", s.path, s.lines[of.Index], &columnError{c, fmt.Errorf("%v: %w", of.Actor, of.Err)})
}

// Refused adds the line to the error of a frame: that of the actor at fault, or else the first of the frame's.
func (s *source) Refused(err error) error {
	line := s.begun
	var of *world.ActorError
	if errors.As(err, &of) {
		if of.List == "ego" {
			line = s.drove
		}
		for i := range s.all {
			if s.all[i].Name == of.Actor.Name {
				line = s.lines[i]
			}
		}
	}
	return fmt.Errorf("%s:%d: %w", s.path, line, err)
}

// Gaps returns 0: a file has none.
func (s *source) Gaps() int64 { return 0 }

// Close closes the file.
func (s *source) Close() error { return s.file.Close() }
