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
	"github.com/raybridge/raybridge/flow"
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
	folder string

	Profile     string        `option:"profile" value:"ros2|ros1|foxglove" default:"ros2" doc:"whose messages are recorded; a folder has ROS 2's"`
	Split       int64         `option:"split" value:"SIZE" doc:"begin another file when one is as large"`
	SplitTime   time.Duration `option:"split_time" value:"TIME" doc:"begin another file after so much simulation time" want:"a time above 0, such as 60s"`
	Metadata    int           `option:"metadata" value:"5|9" default:"5" doc:"version of a folder's metadata.yaml: 5, which ROS 2 reads from Humble on, or 9"`
	Compression string        `option:"compression" value:"zstd|lz4|none" default:"zstd" doc:"of chunks"`
	Chunk       int64         `option:"chunk" value:"SIZE" default:"1MiB" doc:"of a chunk before compression"`
	Flush       time.Duration `option:"flush" value:"TIME" doc:"finish a chunk after so much wall time at most" want:"a time above 0, such as 60s"`
}

const suffix = ".mcap"

// compressions are MCAP's names of an option's words.
var compressions = map[string]mcap.CompressionFormat{
	"zstd": mcap.CompressionZSTD, "lz4": mcap.CompressionLZ4, "none": mcap.CompressionNone,
}

// parseConnection reads a connection string; relative paths lie below outDir.
// Every error is bridges.ErrConnectionString.
func parseConnection(connection, outDir string) (options, error) {
	o := options{Profile: profileROS2, Metadata: metadataHumble, Compression: "zstd", Chunk: defaultChunkSize}
	path, _, err := bridges.ReadOptions(connection, &o)
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
	var isFile bool
	if o.stem, isFile = strings.CutSuffix(path, suffix); !isFile {
		name := filepath.Base(path)
		if name == "." || name == ".." || name == string(filepath.Separator) {
			return options{}, fmt.Errorf("%w: %q has no name; want FILE.mcap or a folder", bridges.ErrConnectionString, path)
		}
		o.folder, o.stem = path, filepath.Join(path, name)
	}
	if o.folder != "" && o.Profile != profileROS2 {
		return options{}, fmt.Errorf("%w: profile=%s: a rosbag2 folder holds ROS 2 messages alone; want FILE.mcap",
			bridges.ErrConnectionString, o.Profile)
	}
	return o, nil
}

// path returns where the file of a number goes: rosbag2's names are numbered, and those
// of recordings that may have several files.
func (o *options) path(number int) string {
	if o.folder != "" || o.Split > 0 || o.SplitTime > 0 {
		return o.stem + "_" + strconv.Itoa(number) + suffix
	}
	return o.stem + suffix
}

// former returns what is there of an older recording of the name, beside the first file in its
// place. That is files of higher numbers, and the one file of a recording that wasn't split,
// which readers would take for the new one. It is also the description of the folder, which
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
	if r.Schema.MD5 != "" {
		return map[string]string{
			"topic": topic.Name, "md5sum": r.Schema.MD5,
			"latching": strconv.FormatBool(topic.QoS.Durability == flow.TransientLocal),
		}
	}
	return map[string]string{"offered_qos_profiles": qosProfile(topic.QoS, o.Metadata)}
}
