package save

import (
	"errors"
	"fmt"
	"slices"
	"strings"

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
