package mcap

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/foxglove/mcap/go/mcap"

	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/flow"
	"github.com/raybridge/raybridge/internal/closest"
	"github.com/raybridge/raybridge/memory"
)

// Forms of rosbag2's metadata, by the version number in metadata.yaml.
const (
	metadataHumble = 5
	metadataJazzy  = 9
)

const defaultChunkSize = 1 << 20

// options is a connection string, read.
type options struct {
	// stem is where the MCAP file goes, without ".mcap" and a file's number.
	stem string
	// folder is the rosbag2 folder around the files, or empty.
	folder      string
	profile     profile
	metadata    int
	compression mcap.CompressionFormat
	chunkSize   int64
	splitBytes  int64         // 0 for no limit
	splitTime   time.Duration // of log time; 0 for no limit
	flush       time.Duration // of wall time; 0 for no limit
}

const suffix = ".mcap"

// known are the options that parseConnection reads.
var known = []bridges.Option{
	{Key: "profile", Value: "ros2|ros1|foxglove", Default: string(profileROS2), Meaning: "whose messages are recorded; a folder has ROS 2's"},
	{Key: "split", Value: "SIZE", Meaning: "begin another file when one is as large"},
	{Key: "split_time", Value: "TIME", Meaning: "begin another file after so much simulation time"},
	{Key: "metadata", Value: "5|9", Default: "5", Meaning: "version of a folder's metadata.yaml: 5, which ROS 2 reads from Humble on, or 9"},
	{Key: "compression", Value: "zstd|lz4|none", Default: "zstd", Meaning: "of chunks"},
	{Key: "chunk", Value: "SIZE", Default: "1MiB", Meaning: "of a chunk before compression"},
	{Key: "flush", Value: "TIME", Meaning: "finish a chunk after so much wall time at most"},
}

// parseConnection reads a connection string; relative paths lie below outDir.
// Every error is bridges.ErrConnectionString.
func parseConnection(connection, outDir string) (options, error) {
	path, values, err := bridges.SplitOptions(connection, known...)
	if err != nil {
		return options{}, err
	}
	if path == "" {
		return options{}, fmt.Errorf("%w: no path; want FILE.mcap or a folder", bridges.ErrConnectionString)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(outDir, path)
	}
	path = filepath.Clean(path)
	o := options{
		profile: profileROS2, metadata: metadataHumble, compression: mcap.CompressionZSTD, chunkSize: defaultChunkSize,
	}
	var isFile bool
	if o.stem, isFile = strings.CutSuffix(path, suffix); !isFile {
		name := filepath.Base(path)
		if name == "." || name == ".." || name == string(filepath.Separator) {
			return options{}, fmt.Errorf("%w: %q has no name; want FILE.mcap or a folder", bridges.ErrConnectionString, path)
		}
		o.folder, o.stem = path, filepath.Join(path, name)
	}
	for key, value := range values {
		if err := o.set(key, value); err != nil {
			return options{}, err
		}
	}
	if o.folder != "" && o.profile != profileROS2 {
		return options{}, fmt.Errorf("%w: profile=%s: a rosbag2 folder holds ROS 2 messages alone; want FILE.mcap",
			bridges.ErrConnectionString, o.profile)
	}
	return o, nil
}

// path returns where the file of a number goes: rosbag2's names are numbered, and those
// of recordings that may have several files.
func (o *options) path(number int) string {
	if o.folder != "" || o.splitBytes > 0 || o.splitTime > 0 {
		return o.stem + "_" + strconv.Itoa(number) + suffix
	}
	return o.stem + suffix
}

// former returns what is there of an older recording of the name, beside the first file
// in its place: files of higher numbers, the one file of a recording that wasn't split,
// which readers would take for the new one, and the description of the folder, which
// wouldn't be true of files that a killed process leaves.
func (o *options) former() []string {
	var candidates []string
	switch {
	case o.folder != "":
		candidates = []string{filepath.Join(o.folder, metadataFile)}
	case o.path(0) != o.path(1):
		candidates = []string{o.stem + suffix}
	}
	list := slices.DeleteFunc(candidates, func(path string) bool { return !exists(path) })
	if o.path(0) == o.path(1) {
		return list
	}
	for number := 1; exists(o.path(number)); number++ {
		list = append(list, o.path(number))
	}
	return list
}

// removeFormer removes what the recording wouldn't overwrite of an older one.
func (o *options) removeFormer() error {
	for _, path := range o.former() {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove former recording: %w", err)
		}
	}
	return nil
}

// exists reports whether there is something of the name, a broken link too.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Replaces returns the files that a connection to the bridge would overwrite or remove:
// what is there of an older recording of the name. Relative paths lie below outDir.
// Errors wrap bridges.ErrConnectionString.
func Replaces(connection, outDir string) ([]string, error) {
	o, err := parseConnection(connection, outDir)
	if err != nil {
		return nil, err
	}
	list := o.former()
	if exists(o.path(0)) {
		list = append(list, o.path(0))
	}
	return list, nil
}

// channelMetadata is what MCAP's registry wants of a channel in the recording's profile,
// and of ROS 1's what its bags have besides.
func (o *options) channelMetadata(topic *bridges.PublishedTopic, r row) map[string]string {
	if r.Schema.Encoding == "ros1msg" {
		if sum, err := ros.MD5(r.Type); err == nil { // of a definition that ROS knows
			return map[string]string{
				"topic": topic.Name, "md5sum": sum,
				"latching": strconv.FormatBool(topic.QoS.Durability == flow.TransientLocal),
			}
		}
	}
	return map[string]string{"offered_qos_profiles": qosProfile(topic.QoS, o.metadata)}
}

// choice is a word that an option may have, and what it means.
type choice[T any] struct {
	word  string
	value T
}

var (
	profiles     = []choice[profile]{{"ros2", profileROS2}, {"ros1", profileROS1}, {"foxglove", profileFoxglove}}
	versions     = []choice[int]{{"5", metadataHumble}, {"9", metadataJazzy}}
	compressions = []choice[mcap.CompressionFormat]{
		{"zstd", mcap.CompressionZSTD}, {"lz4", mcap.CompressionLZ4}, {"none", mcap.CompressionNone},
	}
)

// set reads one option. Errors are bridges.ErrConnectionString.
func (o *options) set(key, value string) (err error) {
	switch key {
	case "profile":
		o.profile, err = choose(value, profiles)
	case "metadata":
		o.metadata, err = choose(value, versions)
	case "compression":
		o.compression, err = choose(value, compressions)
	case "chunk":
		o.chunkSize, err = memory.ParseSize(value)
	case "split":
		o.splitBytes, err = memory.ParseSize(value)
	case "split_time":
		o.splitTime, err = parseTime(value)
	case "flush":
		o.flush, err = parseTime(value)
	}
	if err != nil {
		return fmt.Errorf("%w: %s=%q: %w", bridges.ErrConnectionString, key, value, err)
	}
	return nil
}

// choose returns what a word means. Its error says what is wanted, as parseTime's and
// memory.ParseSize's do.
func choose[T any](word string, choices []choice[T]) (value T, err error) {
	var words []string
	for _, c := range choices {
		if c.word == word {
			return c.value, nil
		}
		words = append(words, c.word)
	}
	return value, errors.New(closest.Want(word, words...))
}

// parseTime reads a time above 0.
func parseTime(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, errors.New("want a time above 0, such as 60s")
	}
	return d, nil
}
