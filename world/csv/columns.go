package csv

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/world"
)

// column is a column that a file may have.
type column int

const (
	colTime column = iota
	colID
	colModel
	colX
	colY
	colYaw
	colZ
	colPitch
	colRoll
	colVX
	colVY
	colVZ
	colLength
	colWidth
	colHeight
	colReference
	colColor
	columns
)

// required is how many columns each file has: the first ones.
const required = colZ

var columnNames = []string{"time", "id", "model", "x", "y", "yaw", "z", "pitch", "roll", "vx", "vy", "vz", "length", "width", "height", "reference", "color"}

func (c column) String() string { return columnNames[c] }

var (
	errHole   = errors.New("the field is empty")
	errNumber = errors.New("want a finite number")
	errSize   = errors.New("want a length in metres, 0 or more")
)

// header says in which field each column is, -1 where the file doesn't have it.
type header [columns]int

// readHeader reads a file's first line.
func readHeader(names []string) (header, error) {
	var h header
	for c := range h {
		h[c] = -1
	}
	if len(names) == 1 && strings.ContainsAny(names[0], ";\t") {
		return h, fmt.Errorf("%w: the columns are not separated by commas", world.ErrValue)
	}
	for i, name := range names {
		name = strings.TrimSpace(name)
		c := column(0)
		for c < columns && c.String() != name {
			c++
		}
		switch {
		case c == columns:
			return h, fmt.Errorf("%w: unknown column %q: %s", world.ErrValue, name, fault.Hint(name, columnNames))
		case h[c] >= 0:
			return h, fmt.Errorf("%w: column %s is there twice", world.ErrValue, c)
		}
		h[c] = i
	}
	for c := range required {
		if h[c] < 0 {
			return h, fmt.Errorf("%w: no column %s: a header line names the columns, %s at least", world.ErrValue, c, strings.Join(columnNames[:required], ", "))
		}
	}
	return h, nil
}

// columnError says in which column a line is wrong.
type columnError struct {
	column column
	err    error
}

func (e *columnError) Error() string { return fmt.Sprintf("column %s: %v", e.column, e.err) }
func (e *columnError) Unwrap() error { return e.err }

// reading reads the fields of one line. The first fault is kept.
type reading struct {
	header *header
	fields []string
	point  mgl64.Vec3 // of the ego, which its velocity is of, as seen from its rear axle
	err    *columnError
}

func (r *reading) fail(c column, err error) {
	if r.err == nil {
		r.err = &columnError{c, err}
	}
}

// text returns a field, "" where the file has no such column.
func (r *reading) text(c column) string {
	if r.header[c] < 0 {
		return ""
	}
	return strings.TrimSpace(r.fields[r.header[c]])
}

// filled is text of a column that may not be empty.
func (r *reading) filled(c column) string {
	text := r.text(c)
	if text == "" {
		r.fail(c, fmt.Errorf("%w: %w", world.ErrValue, errHole))
	}
	return text
}

// number reads a number. An empty field is 0.
func (r *reading) number(c column) float64 {
	text := r.text(c)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		r.fail(c, fmt.Errorf("%w: %q: %w", world.ErrValue, text, errNumber))
	}
	return n
}

// needed is number of a column that may not be empty.
func (r *reading) needed(c column) float64 {
	r.filled(c)
	return r.number(c)
}

// size reads a length.
func (r *reading) size(c column) float64 {
	n := r.number(c)
	if n < 0 {
		r.fail(c, fmt.Errorf("%w: %v: %w", world.ErrValue, n, errSize))
	}
	return n
}

// row reads who is where, and when.
func (r *reading) row() (simtime.Stamp, world.Spawn) {
	var s world.Spawn
	at, err := seconds(r.filled(colTime))
	if err != nil {
		r.fail(colTime, fmt.Errorf("%w: %q: %w", world.ErrValue, r.text(colTime), err))
	}
	s.Name = r.filled(colID)
	s.Model = r.text(colModel)
	if s.Name != ego {
		s.Model = r.filled(colModel)
	}
	s.OnGround = r.text(colZ) == ""
	position := mgl64.Vec3{r.needed(colX), r.needed(colY), r.number(colZ)}
	s.State.Pose = spatial.FromRPY(position, r.number(colRoll), r.number(colPitch), r.needed(colYaw))
	s.Size = mgl64.Vec3{r.size(colLength), r.size(colWidth), r.size(colHeight)}
	if r.text(colVX) != "" || r.text(colVY) != "" || r.text(colVZ) != "" {
		s.State.Velocity = mgl64.Vec3{r.needed(colVX), r.needed(colVY), r.number(colVZ)}
		s.State.VelocityKnown = true
	}
	if s.Reference, err = world.ParseReference(r.text(colReference)); err != nil {
		r.fail(colReference, err)
	}
	if s.Color, err = world.ParseColor(r.text(colColor)); err != nil {
		r.fail(colColor, err)
	}
	if s.Name == ego {
		r.toRearAxle(&s)
	}
	return at, s
}

// toRearAxle makes a row of the ego one that tells of its rear axle on the ground, as rows without a
// reference do.
func (r *reading) toRearAxle(s *world.Spawn) {
	if r.text(colReference) != "" && s.Reference != world.RearAxle {
		if s.Size[0] == 0 {
			r.fail(colLength, fmt.Errorf("%w: the ego's is needed to find its rear axle", errHole))
		}
		if s.Reference == world.BoxCentre && s.Size[2] == 0 {
			r.fail(colHeight, fmt.Errorf("%w: the ego's is needed to find the ground below it", errHole))
		}
		r.point = s.Reference.InBox(s.Size).Sub(world.RearAxle.InBox(s.Size))
		s.State.Pose.Position = s.State.Pose.Apply(r.point.Mul(-1))
	}
	s.Reference = world.RearAxle
}
