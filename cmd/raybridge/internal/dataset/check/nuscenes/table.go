package nuscenes

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strconv"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/cmd/raybridge/internal/dataset/check"
	"github.com/raybridge/raybridge/spatial"
)

// errTable says that a table can't be read: a finding has the reason.
var errTable = errors.New("a table can't be read")

// reader reads the rows of one table.
type reader struct {
	file  string
	found *check.Findings
	// fields, token and place are those of the row that is read.
	fields map[string]json.RawMessage
	token  string
	number int
}

// readTable calls row for each row of a table, with the row's token read. The error is errTable or one of the file system.
func readTable(root fs.FS, file string, f *check.Findings, row func(*reader)) error {
	text, err := fs.ReadFile(root, file)
	if err != nil {
		return err
	}
	return decodeTable(text, file, f, row)
}

func decodeTable(text []byte, file string, f *check.Findings, row func(*reader)) error {
	r := reader{file: file, found: f}
	for _, line := range blankNumbers(text) {
		f.Add(ruleNumber, check.Place{File: file, Row: "line " + strconv.Itoa(line)}, "NaN and Infinity are no numbers in JSON: readers other than Python's refuse the file")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	broken := func(err error) error {
		line := 1 + bytes.Count(text[:min(d.InputOffset(), int64(len(text)))], []byte("\n"))
		f.Add(ruleJSON, check.Place{File: file, Row: "line " + strconv.Itoa(line)}, "the table isn't a list of objects in JSON: %v", err)
		return errTable
	}
	switch t, err := d.Token(); {
	case err != nil:
		return broken(err)
	case t != json.Delim('['):
		return broken(fmt.Errorf("it begins with %v", t))
	}
	for ; d.More(); r.number++ {
		r.fields = nil
		if err := d.Decode(&r.fields); err != nil {
			return broken(err)
		}
		r.token = ""
		if r.token = r.text("token"); r.token == "" && r.fields["token"] != nil {
			f.Add(ruleToken, r.place(), "the token is empty")
		}
		row(&r)
	}
	if _, err := d.Token(); err != nil {
		return broken(err)
	}
	return nil
}

// blankNumbers replaces numbers that JSON doesn't have by 0 and blanks, so that the rest can be read, and returns their lines.
func blankNumbers(text []byte) (lines []int) {
	quoted, line := false, 1
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\n':
			line++
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && (c == 'N' || c == 'I'):
			for _, word := range []string{"NaN", "Infinity"} {
				if bytes.HasPrefix(text[i:], []byte(word)) {
					copy(text[i:], "0       "[:len(word)])
					lines = append(lines, line)
				}
			}
		}
	}
	return lines
}

// place is that of the row.
func (r *reader) place() check.Place {
	if r.token == "" {
		return check.Place{File: r.file, Row: "row " + strconv.Itoa(r.number)}
	}
	return check.Place{File: r.file, Row: r.token}
}

// field reads a field into v.
func (r *reader) field(name string, v any, want string) bool {
	raw, ok := r.fields[name]
	if !ok {
		r.found.Add(ruleField, r.place(), "the field %s is missing", name)
		return false
	}
	if bytes.Equal(raw, []byte("null")) || json.Unmarshal(raw, v) != nil {
		r.found.Add(ruleField, r.place(), "%s is %.60s: it must be %s", name, raw, want)
		return false
	}
	return true
}

func (r *reader) text(name string) (s string) {
	r.field(name, &s, "a string")
	return s
}

func (r *reader) texts(name string) (s []string) {
	r.field(name, &s, "a list of strings")
	return s
}

func (r *reader) flag(name string) (b bool) {
	r.field(name, &b, "true or false")
	return b
}

// whole reads a whole number that isn't negative.
func (r *reader) whole(name string) (n int64) {
	if r.field(name, &n, "a whole number") && n < 0 {
		r.found.Add(ruleField, r.place(), "%s is %d: it must not be negative", name, n)
	}
	return n
}

// stamp reads a time in microseconds since 1970.
func (r *reader) stamp(name string) int64 {
	t := r.whole(name)
	if t > lastStamp {
		r.found.Add(ruleTime, r.place(), "%s is %d: in microseconds since 1970 that is after 2100, so that its unit must be another", name, t)
	}
	return t
}

// lastStamp is the year 2100: a present time in nanoseconds is far behind it.
const lastStamp = 4_102_444_800_000_000

func (r *reader) numbers(name string, n int) ([]float64, bool) {
	var v []float64
	want := fmt.Sprintf("a list of %d numbers", n)
	if !r.field(name, &v, want) {
		return make([]float64, n), false
	}
	if len(v) != n {
		r.found.Add(ruleField, r.place(), "%s has %d numbers: it must be %s", name, len(v), want)
		return make([]float64, n), false
	}
	return v, true
}

func (r *reader) vec3(name string) (mgl64.Vec3, bool) {
	v, ok := r.numbers(name, 3)
	return mgl64.Vec3(v), ok
}

// pose reads translation and rotation, whose w stands first.
func (r *reader) pose() spatial.Pose {
	at, _ := r.vec3("translation")
	q, ok := r.numbers("rotation", 4)
	p := spatial.Pose{Position: at, Orientation: mgl64.Quat{W: q[0], V: mgl64.Vec3{q[1], q[2], q[3]}}}
	if length := p.Orientation.Len(); ok && math.Abs(length-1) > 1e-6 {
		r.found.Add(ruleQuaternion, r.place(), "rotation has the length %.9g: a rotation has 1", length)
		ok = length > 1e-6
	}
	if !ok {
		p.Orientation = mgl64.QuatIdent()
		return p
	}
	p.Orientation = p.Orientation.Normalize()
	return p
}

// intrinsic reads a camera's matrix, row by row, or nothing.
func (r *reader) intrinsic() (k [3][3]float64, ok bool) {
	var rows [][]float64
	if !r.field("camera_intrinsic", &rows, "a matrix of 3 by 3 numbers, or an empty list") || len(rows) == 0 {
		return k, false
	}
	if len(rows) != 3 || len(rows[0]) != 3 || len(rows[1]) != 3 || len(rows[2]) != 3 {
		r.found.Add(ruleField, r.place(), "camera_intrinsic isn't a matrix of 3 by 3")
		return k, false
	}
	for i := range k {
		copy(k[i][:], rows[i])
	}
	return k, true
}
