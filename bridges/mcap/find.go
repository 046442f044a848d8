package mcap

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/foxglove/mcap/go/mcap"

	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/filefault"
	"github.com/raybridge/raybridge/internal/yamldoc"
)

// findAll returns the MCAP files of several recordings, each file once.
func findAll(paths []string) ([]string, error) {
	var list []string
	var known []os.FileInfo
	for _, path := range paths {
		found, err := findFiles(path)
		if err != nil {
			return nil, err
		}
		for _, file := range found {
			info, err := os.Stat(file)
			switch {
			case err != nil:
				return nil, err
			case slices.ContainsFunc(known, func(k os.FileInfo) bool { return os.SameFile(k, info) }):
				continue
			case len(paths) > 1 && !begun(file):
				continue // as in a folder
			}
			list, known = append(list, file), append(known, info)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%w: the files are empty", ErrNotMCAP)
	}
	return list, nil
}

// findFiles returns the MCAP files of a recording, in their order.
func findFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) && strings.HasSuffix(path, suffix) {
		if split := numbered(strings.TrimSuffix(path, suffix)); len(split) > 0 {
			return split, nil
		}
	}
	if err != nil {
		return nil, filefault.Explain(err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	text, err := filefault.ReadUpTo(filepath.Join(path, metadataFile), mostMetadata)
	if errors.Is(err, fs.ErrNotExist) {
		return filesBelow(path)
	}
	if err != nil {
		return nil, err
	}
	return listedFiles(path, text)
}

// numbered returns the files STEM_0.mcap, STEM_1.mcap and so on, as many as there are.
func numbered(stem string) []string {
	var list []string
	for number := 0; ; number++ {
		path := stem + "_" + strconv.Itoa(number) + suffix
		if !begun(path) {
			return list
		}
		list = append(list, path)
	}
}

// begun reports whether a file is there and has more than nothing: a process that is
// killed as it begins one leaves it empty.
func begun(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Size() >= int64(len(mcap.Magic))
}

// filesBelow returns the MCAP files of a folder that nothing describes, those that end in
// numbers in the numbers' order.
func filesBelow(folder string) ([]string, error) {
	list, err := filepath.Glob(filepath.Join(globEscape(folder), "*"+suffix))
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(path string) bool { return !begun(path) })
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: %w: it has neither %s nor a file that ends in %s", folder, ErrNotMCAP, metadataFile, suffix)
	}
	slices.SortFunc(list, func(a, b string) int {
		if byLength := len(a) - len(b); byLength != 0 {
			return byLength
		}
		return strings.Compare(a, b)
	})
	return list, nil
}

// globEscape makes a path one that filepath.Glob takes for itself.
func globEscape(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// listedFiles returns the files that a rosbag2 folder's metadata.yaml lists.
func listedFiles(folder string, text []byte) ([]string, error) {
	if len(text) > mostMetadata {
		return nil, fmt.Errorf("%w: %s has more than %d bytes", ErrDamaged, metadataFile, mostMetadata)
	}
	var doc struct {
		Bag struct {
			Storage     string   `yaml:"storage_identifier"`
			Compression string   `yaml:"compression_format"`
			Files       []string `yaml:"relative_file_paths"`
		} `yaml:"rosbag2_bagfile_information"`
	}
	if err := readYAML(filepath.Join(folder, metadataFile), text, &doc); err != nil {
		return nil, err
	}
	if doc.Bag.Storage != "mcap" || doc.Bag.Compression != "" {
		return nil, fmt.Errorf("%w: its files are %q, compressed by %q: want storage mcap without compression by rosbag2",
			ErrNotMCAP, doc.Bag.Storage, doc.Bag.Compression)
	}
	var list []string
	for _, name := range doc.Bag.Files {
		list = append(list, filepath.Join(folder, filepath.Base(name)))
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%w: %s lists no file", ErrNotMCAP, metadataFile)
	}
	return list, nil
}

// mostMetadata is the longest metadata.yaml that is read, bytes.
const mostMetadata = 16 << 20

// readYAML sets doc by a description, which may be of anybody's making; file names it in
// errors. What doc has no field for is left out.
func readYAML(file string, text []byte, doc any) error {
	n, err := yamldoc.Parse(file, text)
	if err == nil {
		err = n.SkipUnknown().Decode(doc)
	}
	if err != nil {
		return fmt.Errorf("%w: description: %w", ErrDamaged, err)
	}
	return nil
}

// staticTopic always is what its name says.
const staticTopic = "/tf_static"

// offeredQoS reads what a channel's metadata say of its quality of service; without a
// word of it that is ROS's default, and for /tf_static what it always is.
func offeredQoS(c *mcap.Channel) flow.QoS {
	if latching := c.Metadata["latching"]; latching == "true" || latching == "1" {
		return flow.StaticQoS
	}
	var list []struct {
		History     any         `yaml:"history"`
		Reliability any         `yaml:"reliability"`
		Durability  any         `yaml:"durability"`
		Depth       int         `yaml:"depth"`
		Deadline    bagDuration `yaml:"deadline"`
	}
	// One profile for each publisher there was: the first says enough.
	text, _, _ := strings.Cut(c.Metadata["offered_qos_profiles"], "\n- ")
	if err := readYAML("offered_qos_profiles", []byte(text), &list); err == nil && len(list) > 0 {
		q := list[0]
		return flow.QoS{
			Reliability: policy(q.Reliability, flow.Reliable, flow.BestEffort),
			Durability:  policy(q.Durability, flow.TransientLocal, flow.Volatile),
			History:     policy(q.History, flow.KeepLast, flow.KeepAll),
			Depth:       max(q.Depth, 0),
			Deadline:    q.Deadline.nanoseconds(),
		}
	}
	if c.Topic == staticTopic {
		return flow.StaticQoS
	}
	return flow.DefaultQoS
}

// bagDuration is a duration as rosbag2 writes it.
type bagDuration struct {
	Sec  uint64 `yaml:"sec"`
	Nsec uint64 `yaml:"nsec"`
}

// mostSeconds is more than any deadline: versions of rosbag2 differ in the time that
// stands for none, but this is the least.
const mostSeconds = math.MaxInt32

// nanoseconds returns 0 for a duration that isn't set.
func (d bagDuration) nanoseconds() int64 {
	if d.Sec >= mostSeconds || d.Nsec >= 1e9 {
		return 0
	}
	return int64(d.Sec*1e9 + d.Nsec)
}

// policy reads a policy by its number or its name; what is neither is the system's
// default.
func policy[P interface {
	~uint8
	fmt.Stringer
}](v any, known ...P) P {
	for _, p := range known {
		if text := fmt.Sprint(v); text == p.String() || text == strconv.Itoa(int(p)) {
			return p
		}
	}
	return 0
}
