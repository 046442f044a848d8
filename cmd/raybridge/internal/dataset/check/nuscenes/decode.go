package nuscenes

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-gl/mathgl/mgl64"
)

// errFormat says that a file isn't what its format asks for.
var errFormat = errors.New("wrong format")

// errEnd says that no byte follows a radar file's last point.
var errEnd = errors.New("no byte follows the last point: the devkit refuses the file")

// lidarPoint is the size of a point of .pcd.bin: x, y, z, intensity, ring.
const lidarPoint = 20

// decodeLidar returns the points of a .pcd.bin in the sensor's frame. Errors wrap errFormat.
func decodeLidar(file []byte) ([]mgl64.Vec3, error) {
	if len(file)%lidarPoint != 0 {
		return nil, fmt.Errorf("%w: %d bytes are no multiple of %d", errFormat, len(file), lidarPoint)
	}
	points := make([]mgl64.Vec3, len(file)/lidarPoint)
	for i := range points {
		var v [5]float64
		for k := range v {
			v[k] = float64(math.Float32frombits(binary.LittleEndian.Uint32(file[i*lidarPoint+4*k:])))
			if math.IsNaN(v[k]) || math.IsInf(v[k], 0) {
				return nil, fmt.Errorf("%w: point %d has the value %v", errFormat, i, v[k])
			}
		}
		if v[3] < 0 || v[3] > 255 {
			return nil, fmt.Errorf("%w: point %d has the intensity %v: it must be from 0 to 255", errFormat, i, v[3])
		}
		if v[4] < 0 || v[4] != math.Trunc(v[4]) {
			return nil, fmt.Errorf("%w: point %d has the ring %v: it must be a whole number", errFormat, i, v[4])
		}
		points[i] = mgl64.Vec3{v[0], v[1], v[2]}
	}
	return points, nil
}

// radarReturn is a point of a radar's file.
type radarReturn struct {
	at mgl64.Vec3
	// velocity has the ego's motion taken out, in the sensor's frame.
	velocity                          [2]float64
	dynamic, ambiguity, invalid, pdh0 int8
}

// none reports whether the return stands for a scan without any.
func (r *radarReturn) none() bool { return math.IsNaN(r.at[0]) }

// radarHeader are the lines that a radar's file must have behind its comment, except the counts.
var radarHeader = []string{
	"VERSION 0.7",
	"FIELDS x y z dyn_prop id rcs vx vy vx_comp vy_comp is_quality_valid ambig_state x_rms y_rms invalid_state pdh0 vx_rms vy_rms",
	"SIZE 4 4 4 1 2 4 4 4 4 4 1 1 1 1 1 1 1 1",
	"TYPE F F F I I F F F F F I I I I I I I I",
	"COUNT 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
	"WIDTH ", "HEIGHT 1", "VIEWPOINT ", "POINTS ", "DATA binary",
}

// radarPoint is the size of a radar's point.
const radarPoint = 43

// decodeRadar returns the returns of a radar's .pcd. Errors wrap errFormat, or errEnd, with which the returns are whole.
func decodeRadar(file []byte) ([]radarReturn, error) {
	line := func() string {
		text, rest, _ := bytes.Cut(file, []byte("\n"))
		file = rest
		return strings.TrimRight(string(text[:min(len(text), 300)]), "\r")
	}
	if first := line(); !strings.HasPrefix(first, "#") {
		return nil, fmt.Errorf("%w: the first line is %q: it must be a comment", errFormat, first)
	}
	counts := map[string]int{}
	for _, want := range radarHeader {
		text := line()
		key, counted := strings.CutSuffix(want, " ")
		rest, ok := strings.CutPrefix(text, want)
		switch {
		case counted && ok && key != "VIEWPOINT":
			n, err := strconv.Atoi(rest)
			if err != nil || n < 1 {
				return nil, fmt.Errorf("%w: %q: it must be a number above 0; a point with NaN stands for none", errFormat, text)
			}
			counts[key] = n
		case !ok || !counted && rest != "":
			return nil, fmt.Errorf("%w: a line is %q: it must be %q", errFormat, text, want)
		}
	}
	n := counts["WIDTH"]
	if counts["POINTS"] != n {
		return nil, fmt.Errorf("%w: WIDTH is %d, POINTS %d", errFormat, n, counts["POINTS"])
	}
	if len(file)/radarPoint < n {
		return nil, fmt.Errorf("%w: %d bytes hold no %d points", errFormat, len(file), n)
	}
	returns := make([]radarReturn, n)
	for i := range returns {
		p := file[i*radarPoint:]
		number := func(at int) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(p[at:]))) }
		returns[i] = radarReturn{
			at: mgl64.Vec3{number(0), number(4), number(8)}, velocity: [2]float64{number(27), number(31)},
			dynamic: int8(p[12]), ambiguity: int8(p[36]), invalid: int8(p[39]), pdh0: int8(p[40]),
		}
	}
	if len(file) == n*radarPoint {
		return returns, errEnd
	}
	return returns, nil
}

// arrayHeader matches the header of a .npy file that holds uint16 in one dimension.
var arrayHeader = regexp.MustCompile(`^\{'descr': '[<|]u2', 'fortran_order': (?:True|False), 'shape': \((\d{1,9}),\), \}\s*$`)

// decodePanoptic returns the array data of a .npz. The archive may hold so many points. Errors wrap errFormat.
func decodePanoptic(file []byte, points int) ([]uint16, error) {
	archive, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errFormat, err)
	}
	member, err := archive.Open("data.npy")
	if err != nil {
		return nil, fmt.Errorf("%w: the archive has no array data", errFormat)
	}
	defer member.Close()
	const most = 1 << 16 // bytes of the header
	array, err := io.ReadAll(io.LimitReader(member, most+2*int64(points)+1))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errFormat, err)
	}
	if len(array) < 10 || !bytes.HasPrefix(array, []byte("\x93NUMPY\x01\x00")) {
		return nil, fmt.Errorf("%w: data isn't a NumPy array, version 1.0", errFormat)
	}
	begin := 10 + int(binary.LittleEndian.Uint16(array[8:]))
	if begin > len(array) {
		return nil, fmt.Errorf("%w: the array's header is cut", errFormat)
	}
	m := arrayHeader.FindSubmatch(array[10:begin])
	if m == nil {
		return nil, fmt.Errorf("%w: the array is %.100q: it must have uint16 in one dimension", errFormat, array[10:begin])
	}
	n, _ := strconv.Atoi(string(m[1])) // the expression takes digits
	if array = array[begin:]; n != points || len(array) != 2*n {
		return nil, fmt.Errorf("%w: the array has %d labels in %d bytes, the cloud %d points", errFormat, n, len(array), points)
	}
	labels := make([]uint16, n)
	for i := range labels {
		labels[i] = binary.LittleEndian.Uint16(array[2*i:])
	}
	return labels, nil
}
