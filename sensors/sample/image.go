package sample

import (
	"math"
	"strconv"
)

// Pixel encodings of Image, as sensor_msgs/image_encodings names them.
const (
	EncodingRGB8   = "rgb8"
	EncodingBGR8   = "bgr8"
	EncodingBGRA8  = "bgra8"
	EncodingMono8  = "mono8"
	EncodingMono16 = "mono16"
	Encoding16UC1  = "16UC1"
	Encoding32SC1  = "32SC1"
	Encoding32FC1  = "32FC1"
	Encoding32FC2  = "32FC2" // optical flow: x and y
	Encoding32FC3  = "32FC3"
)

// Image is an uncompressed picture. Row 0 is the top, little endian, rows are
// Step bytes apart; Data holds Step*Height bytes.
type Image struct {
	Header
	Width, Height int
	Step          int
	Encoding      string
	// FovDeg is the horizontal field of view of the lens, degrees.
	FovDeg  float64
	Shutter Shutter
	Data    []byte
}

// Shutter says when the lines of a picture were exposed. The zero value is that of a picture of one
// instant, its stamp.
type Shutter struct {
	// Readout is the order in which lines are read: top_down or bottom_up for rows, left_right or
	// right_left for columns.
	Readout string
	// LineTime is from the exposure of one line to that of the next, and ExposureTime that of each
	// of them, in seconds.
	LineTime, ExposureTime float64
	// FirstNs is when the exposure of the line that is read first began, nanoseconds after the
	// stamp: 0 or below.
	FirstNs int64
}

// String returns the order of the lines and their time, "" for a picture of one instant.
func (s Shutter) String() string {
	if s.Readout == "" {
		return ""
	}
	return "rolling " + s.Readout + ", " + strconv.FormatFloat(math.Round(1e9*s.LineTime)/1e3, 'f', -1, 64) + " µs a line"
}

// CacheKey groups images of about one size in one pool.
func (m *Image) CacheKey() uint64 { return uint64(len(m.Data)) }

// CompressedImage is a picture encoded as Format ("jpeg" or "png") says.
type CompressedImage struct {
	Header
	Format string
	Data   []byte
}

// CameraInfo is the calibration of the camera that took the image with the same stamp and
// frame. It follows sensor_msgs/CameraInfo's conventions: row-major matrices, pixel centres at
// integers.
type CameraInfo struct {
	Header
	Width, Height   int
	DistortionModel string
	D               []float64
	K               [9]float64
	R               [9]float64
	P               [12]float64
	Shutter         Shutter
}

// SizeBytes returns the size of the pixels.
func (m *Image) SizeBytes() int64 { return int64(len(m.Data)) }

// SizeBytes returns the size of the encoded picture.
func (m *CompressedImage) SizeBytes() int64 { return int64(len(m.Data)) }
