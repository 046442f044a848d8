package mcap

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/foxglove/mcap/go/mcap"

	"github.com/raybridge/raybridge/bridges"
)

// Forms of rosbag2's metadata, by the version number in metadata.yaml.
const (
	metadataHumble = 5
	metadataJazzy  = 9
)

const defaultChunkSize = 1 << 20

// options is a connection string, read.
type options struct {
	// file is where the MCAP file goes.
	file string
	// folder is the rosbag2 folder around file, or empty.
	folder      string
	metadata    int
	compression mcap.CompressionFormat
	chunkSize   int64
}

// parseConnection reads a connection string; relative paths lie below outDir.
// Every error is bridges.ErrConnectionString.
func parseConnection(connection, outDir string) (options, error) {
	path, values, err := bridges.SplitOptions(connection, "metadata", "compression", "chunk")
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
	o := options{file: path, metadata: metadataHumble, compression: mcap.CompressionZSTD, chunkSize: defaultChunkSize}
	if !strings.HasSuffix(path, ".mcap") {
		name := filepath.Base(path)
		if name == "." || name == ".." || name == string(filepath.Separator) {
			return options{}, fmt.Errorf("%w: %q has no name; want FILE.mcap or a folder", bridges.ErrConnectionString, path)
		}
		o.folder, o.file = path, filepath.Join(path, name+"_0.mcap")
	}
	for key, value := range values {
		if err := o.set(key, value); err != nil {
			return options{}, err
		}
	}
	return o, nil
}

func (o *options) set(key, value string) error {
	bad := func(want string) error {
		return fmt.Errorf("%w: %s=%q: want %s", bridges.ErrConnectionString, key, value, want)
	}
	switch key {
	case "metadata":
		switch value {
		case "5":
			o.metadata = metadataHumble
		case "9":
			o.metadata = metadataJazzy
		default:
			return bad("5 or 9")
		}
	case "compression":
		switch value {
		case "zstd":
			o.compression = mcap.CompressionZSTD
		case "lz4":
			o.compression = mcap.CompressionLZ4
		case "none":
			o.compression = mcap.CompressionNone
		default:
			return bad("zstd, lz4 or none")
		}
	case "chunk":
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < 1 {
			return bad("a positive number of bytes")
		}
		o.chunkSize = n
	}
	return nil
}
