package check

import (
	"bytes"
	"errors"
	"image"
	_ "image/jpeg" // pictures are JPEG or PNG
	_ "image/png"
	"io/fs"
)

// errCut says that a picture ends before its last mark.
var errCut = errors.New("the file is cut off")

// ends are the last bytes of whole pictures.
var ends = map[string][]byte{"jpeg": {0xff, 0xd9}, "png": {'I', 'E', 'N', 'D', 0xae, 0x42, 0x60, 0x82}}

// PictureSize reads a JPEG's or PNG's width and height in pixels from its header, and looks at its end. Errors are errCut, those of package image, and those of the
// file system.
func PictureSize(root fs.FS, file string) (width, height int, err error) {
	data, err := fs.ReadFile(root, file)
	if err != nil {
		return 0, 0, err
	}
	config, format, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return 0, 0, err
	}
	if !bytes.HasSuffix(data, ends[format]) {
		return 0, 0, errCut
	}
	return config.Width, config.Height, nil
}
