// Package save writes received sensor data to files. Pictures become PNG or JPEG, point clouds
// and radar sweeps PCD or PLY, everything else lines of JSON. [Report] shows a whole
// run on one page.
//
// # Files
//
// Below a [Folder], a stream has a folder of its name: /front/image_raw lies in
// front/image_raw. A message is the file SEQUENCE_STAMP there, such as
// 00000012_1.200000000.png: the sensor's capture, and simulated seconds. A file that
// is there already is never replaced: the next one of its name gets a number. The
// lines of JSON of /imu/data are imu/data.jsonl, which is appended to.
//
// # Formats
//
// PNG shows an image as people see it (package picture): depth, labels, ids, normals
// and optical flow in colours. Compressed images are written as they were received,
// whatever they are compressed by. PCD and PLY have the points in the sensor's frame,
// binary and little-endian, with the fields of [Points]. JSON has the keys of the
// logging bridge, and every value as it was measured.
package save

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/logging"
	"github.com/raybridge/raybridge/bridges/stream"
	"github.com/raybridge/raybridge/internal/fault"
	"github.com/raybridge/raybridge/internal/picture"
	"github.com/raybridge/raybridge/sensors/sample"
)

// Folder is where streams are saved.
type Folder struct {
	path   string
	format Format
	made   []string // by NewFolder, the innermost first
}

// NewFolder makes the folder and returns it; Close ends it.
func NewFolder(path string, format Format) (*Folder, error) {
	f := &Folder{path: path, format: format}
	for at := filepath.Clean(path); ; at = filepath.Dir(at) {
		if _, err := os.Lstat(at); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		f.made = append(f.made, at)
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, fmt.Errorf("make folder to save into: %w", fault.File(err))
	}
	return f, nil
}

// Close removes of the folders that NewFolder made those that nothing was saved in.
func (f *Folder) Close() {
	for _, path := range f.made {
		if os.Remove(path) != nil { // it has something in it
			return
		}
	}
}

// Stream saves the messages of one stream. One goroutine at a time may use it.
type Stream struct {
	info    stream.Info
	format  Format
	path    string // of its files' folder, or of its lines without the suffix
	encoder picture.PNGEncoder
	out     []byte   // the file or the line that is being made
	lines   *os.File // nil before the first line
	saved   int
	bytes   int64
}

// Stream returns what saves a stream. Errors wrap ErrContent where the folder's format
// can't hold its messages.
func (f *Folder) Stream(info stream.Info) (*Stream, error) {
	format, ok := f.format.For(&info.Schema)
	if !ok {
		return nil, fmt.Errorf("%w: %s can't be saved as %s", ErrContent, info.Schema.Name, strings.ToUpper(f.format.String()))
	}
	return &Stream{info: info, format: format, path: filepath.Join(f.path, relative(info.Name))}, nil
}

// relative is a topic as a path below a folder, whatever the topic is.
func relative(topic string) string {
	var parts []string
	for part := range strings.SplitSeq(topic, "/") {
		part = strings.Map(func(r rune) rune {
			switch {
			case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '.', r == '_':
				return r
			}
			return '_'
		}, part)
		switch {
		case part == "":
			continue
		case part[0] == '.': // no hidden files, and no way out of the folder
			part = "_" + part[1:]
		}
		parts = append(parts, part[:min(len(part), maxName)])
	}
	if len(parts) == 0 {
		return "_"
	}
	return filepath.Join(parts...)
}

// maxName leaves room for suffixes in the 255 bytes that file systems allow.
const maxName = 200

// Where returns where the stream's files are, for people.
func (s *Stream) Where() string {
	if s.format == JSON {
		return s.path + linesSuffix
	}
	return filepath.Join(s.path, "*")
}

const linesSuffix = ".jsonl"

// Saved returns the number of messages that were saved, and their bytes on disk.
func (s *Stream) Saved() (messages int, bytes int64) { return s.saved, s.bytes }

// Save writes a message. Errors wrap ErrContent if the message is to blame; others are
// the file system's.
func (s *Stream) Save(m *stream.Data) error {
	suffix, err := s.render(m)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrContent, err)
	}
	if s.format == JSON {
		err = s.writeLine()
	} else {
		err = s.writeFile(fmt.Sprintf("%08d_%s", m.Sequence(), fault.NineDecimals(int64(m.Stamp()))), suffix)
	}
	if err != nil {
		return fmt.Errorf("save %s: %w", s.info.Name, err)
	}
	s.saved++
	s.bytes += int64(len(s.out))
	return nil
}

// render makes the file or the line of a message in s.out.
func (s *Stream) render(d *stream.Data) (suffix string, err error) {
	if s.format == JSON {
		s.out, err = appendLine(s.out[:0], d)
		return linesSuffix, err
	}
	s.out = s.out[:0]
	msg, err := d.Sample()
	if err != nil {
		return "", err
	}
	var points *Points
	switch m := msg.(type) {
	case *sample.Image:
		s.out, err = s.encoder.Append(s.out, m, s.info.SensorType)
		return ".png", err
	case *sample.CompressedImage:
		s.out = append(s.out, m.Data...)
		return compressedSuffix(m.Format)
	case *sample.Radar:
		points = radarPoints(m)
	case *sample.PointCloud:
		points, err = CloudPoints(m)
	default:
		err = fmt.Errorf("a cloud of the fields of %T", m)
	}
	switch {
	case err != nil:
		return "", err
	case s.format == PLY:
		s.out = AppendPLY(s.out, points)
		return ".ply", nil
	default:
		s.out = AppendPCD(s.out, points)
		return ".pcd", nil
	}
}

// writeFile writes s.out so that the file is whole when it appears.
func (s *Stream) writeFile(name, suffix string) error {
	if s.saved == 0 {
		if err := os.MkdirAll(s.path, 0o755); err != nil {
			return err
		}
	}
	path, err := free(filepath.Join(s.path, name), suffix)
	if err != nil {
		return err
	}
	part := path + ".part"
	if err = os.WriteFile(part, s.out, 0o644); err == nil {
		err = os.Rename(part, path)
	}
	if err != nil {
		_ = os.Remove(part) // the first error says what is wrong
	}
	return err
}

// free returns a path that no file has: a number follows the name where it must.
func free(name, suffix string) (string, error) {
	path := name + suffix
	for n := 2; ; n++ {
		_, err := os.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return path, nil
		case err != nil:
			return "", err
		}
		path = fmt.Sprintf("%s_%d%s", name, n, suffix)
	}
}

// writeLine appends s.out to the file of lines.
func (s *Stream) writeLine() (err error) {
	if s.lines == nil {
		path := s.path + linesSuffix
		if err = os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if s.lines, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644); err != nil {
			return err
		}
	}
	_, err = s.lines.Write(s.out)
	return err
}

// Close closes what is open; nothing is saved after it.
func (s *Stream) Close() error {
	if s.lines == nil {
		return nil
	}
	if err := s.lines.Close(); err != nil {
		return fmt.Errorf("save %s: %w", s.info.Name, err)
	}
	return nil
}

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
	return Auto, fmt.Errorf("%w %q: %s", ErrFormat, name, fault.Want(name, formatNames[:]...))
}

// For returns the format that messages of a schema are written in where f is asked for:
// f itself, or what Auto means for them. It is false where f can't hold them.
func (f Format) For(schema *bridges.Schema) (Format, bool) {
	own := JSON
	if schema.MessageEncoding == "cdr" {
		switch schema.Name {
		case "sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage":
			own = PNG
		case "sensor_msgs/msg/PointCloud2", "raybridge_msgs/msg/Radar":
			own = PCD
		}
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
	Name         string
	Frame        string
	Time         json.Number
	StampNs      int64
	Sequence     uint64
	SensorNumber uint16
	Message      string
	Encoding     string
	Body         []byte
}

// appendLine appends a message as a line of JSON, in the logging bridge's form.
func appendLine(dst []byte, d *stream.Data) ([]byte, error) {
	msg, err := d.Sample()
	if err == nil {
		dst, err = logging.AppendJSON(dst, d.Stream.Sensor, msg)
	} else if errors.Is(err, stream.ErrUnknownType) {
		var object []byte
		object, err = json.Marshal(foreign{
			d.Stream.Sensor, d.FrameID(), json.Number(fault.NineDecimals(int64(d.Stamp()))), int64(d.Stamp()), d.Sequence(),
			d.Stream.Type.Number(), d.Stream.Schema.Name, d.Stream.Schema.MessageEncoding, d.Body(),
		})
		dst = append(dst, object...)
	}
	return append(dst, '\n'), err
}

// compressedSuffix returns how files of a compressed image end.
func compressedSuffix(format string) (string, error) {
	switch format {
	case "jpeg", "jpg":
		return ".jpg", nil
	case "png":
		return ".png", nil
	default:
		return "", fmt.Errorf("an image compressed as %q", format)
	}
}
