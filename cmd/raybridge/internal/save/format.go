package save

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/raybridge/raybridge/bridges/logging"
	"github.com/raybridge/raybridge/internal/closest"
	"github.com/raybridge/raybridge/sensors/stream/wire"
)

// Errors of this package; test them with errors.Is.
var (
	// ErrFormat: no format has the name.
	ErrFormat = errors.New("unknown format")
	// ErrContent: the message can't be written in the format.
	ErrContent = errors.New("can't save this message")
)

// Format is a form of files.
type Format uint8

const (
	// Auto is PNG for images, PCD for clouds and radar sweeps, JSON for the rest.
	Auto Format = iota
	// PNG is a picture; compressed images keep their own compression.
	PNG
	// PCD is the Point Cloud Library's format, version 0.7, binary.
	PCD
	// PLY is Stanford's polygon format, binary and little-endian, of vertices alone.
	PLY
	// JSON is one object a line.
	JSON
)

var formatNames = [...]string{Auto: "auto", PNG: "png", PCD: "pcd", PLY: "ply", JSON: "json"}

// String returns the format's name.
func (f Format) String() string { return formatNames[f] }

// Formats returns the names of all formats.
func Formats() []string { return slices.Clone(formatNames[:]) }

// ParseFormat returns the format of that name. Errors wrap ErrFormat.
func ParseFormat(name string) (Format, error) {
	if i := slices.Index(formatNames[:], strings.ToLower(name)); i >= 0 {
		return Format(i), nil
	}
	return Auto, fmt.Errorf("%w %q: %s", ErrFormat, name, closest.Want(name, formatNames[:]...))
}

// For returns the format that messages of a kind are written in where f is asked for:
// f itself, or what Auto means for them. It is false where f can't hold them.
func (f Format) For(kind wire.Kind) (Format, bool) {
	own := JSON
	switch kind {
	case wire.KindImage, wire.KindCompressedImage:
		own = PNG
	case wire.KindPointCloud, wire.KindRadar:
		own = PCD
	}
	switch f {
	case Auto:
		return own, true
	case PLY:
		return PLY, own == PCD
	default:
		return f, f == JSON || f == own
	}
}

// foreign is the line of a message that only its own sensor knows the layout of.
type foreign struct {
	Name          string
	Frame         string
	Time          json.Number
	StampNs       int64
	Sequence      uint64
	SensorNumber  uint16
	SchemaVersion uint16
	Body          []byte
}

// appendLine appends a message as a line of JSON, in the logging bridge's form; sensor
// is who made it. Errors wrap ErrContent.
func appendLine(dst []byte, sensor string, m wire.Message) ([]byte, error) {
	msg, err := wire.Decode(m)
	if err == nil {
		dst, err = logging.AppendJSON(dst, sensor, msg)
	} else if m.Kind() == wire.KindForeign {
		var object []byte
		object, err = json.Marshal(foreign{
			sensor, m.FrameID(), json.Number(seconds(m.CaptureNs())), m.CaptureNs(), m.Sequence(),
			m.Type().Number(), m.SchemaVersion(), m.Body(),
		})
		dst = append(dst, object...)
	}
	if err != nil {
		return dst, fmt.Errorf("%w: %w", ErrContent, err)
	}
	return append(dst, '\n'), nil
}

// contentError marks errors of opening a message.
func contentError(err error) error {
	if err == nil || errors.Is(err, ErrContent) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrContent, err)
}
