//go:build peers

package velodyne

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/bridgetest"
	"github.com/raybridge/raybridge/sensors/sample"
)

// TestFoxgloveReadsIt: Foxglove's reader, with its own calibrations of the three devices, finds the model
// and each point of a scan: the distance within half a unit, and the place within what its
// calibration and its azimuths allow. It finds the time of a real preset's ray within 7 µs: it knows the times of a VLP-32C's and
// a VLS-128's lasers.
func TestFoxgloveReadsIt(t *testing.T) {
	for _, c := range []struct {
		product    byte
		dual, made bool
	}{{0x22, false, false}, {0x28, false, false}, {0xA1, false, false}, {0x22, true, false}, {0x28, true, false}, {0xA1, true, false}, {0x28, false, true}, {0xA1, false, true}} {
		const period = 100 * time.Millisecond
		product, m := c.product, models(t)[c.product]
		if c.made {
			m = m.made(period)
		}
		t.Run(fmt.Sprintf("%s, dual %v, made %v", m.preset, c.dual, c.made), func(t *testing.T) {
			dir := t.TempDir()
			b, publish := open(t, "drive.pcap", dir, "roof")
			require.NoError(t, b.Connect(t.Context()))
			scan := m.scanOf(stamped(0, period), 1800, period, 17, rough(m, 5))
			want, columns := m.near(scan.Points), m.perPacket
			if c.dual {
				scan, columns = m.dualOf(scan), map[byte]int{0x22: 12, 0x28: 6, 0xA1: 1}[product]
				want = m.inBlocks(scan)
			}
			require.NoError(t, publish["roof"](t.Context(), scan))
			require.NoError(t, b.Close(t.Context()))

			path := filepath.Join(dir, "drive.pcap")
			var said struct {
				Model           string
				Packets, Points int
			}
			out := bridgetest.StartProcess(t, bridgetest.Node("testdata/peers/points.mjs", path)).Wait(t)
			require.NoError(t, json.Unmarshal([]byte(strings.TrimSpace(out)), &said), out)
			assert.Equal(t, map[byte]string{0x22: "VLP16", 0x28: "VLP32C", 0xA1: "VLS128"}[product], said.Model)
			assert.Equal(t, 1800/columns, said.Packets)
			require.Equal(t, len(want), said.Points)

			data, err := os.ReadFile(path + ".points")
			require.NoError(t, err)
			points := make([][7]float64, said.Points)
			require.NoError(t, binary.Read(bytes.NewReader(data), binary.LittleEndian, points))
			// That reader gives the second column of a VLP-16's block the azimuth of the first, and
			// lasers no height. Nor does it turn those of a column that fire later.
			slack := 1e-3
			if product == 0x22 || c.made {
				slack += 0.2
			}
			for n, p := range want {
				got, at := points[n], m.place(p)
				apart := math.Hypot(math.Hypot(got[0]-at[0], got[1]-at[1]), got[2]-at[2])
				if math.Abs(got[3]-float64(p.Distance)) > m.unit/2+1e-5 || apart > m.unit/2+got[3]*slack*math.Pi/180+math.Abs(m.lasers[int(p.Ray)%len(m.lasers)].height)+1e-3 {
					require.Fail(t, "another point", "%v of laser %d: %+v, %v m apart", got, int(p.Ray)%len(m.lasers), *p, apart)
				}
				if late := time.Duration(got[6] - float64(p.TimeNs)); c.made && late.Abs() >= 7*time.Microsecond {
					require.Fail(t, "another time", "%v off, of laser %d: %+v", late, int(p.Ray)%len(m.lasers), *p)
				}
			}
		})
	}
}

// near are the points that packets have.
func (m *model) near(points []sample.Point) (near []*sample.Point) {
	for i := range points {
		if points[i].Distance <= float32(m.unit*65535.5) {
			near = append(near, &points[i])
		}
	}
	return near
}

// place is where a point is, by its direction and distance: that of a weaker echo isn't its X, Y and Z.
func (m *model) place(p *sample.Point) [3]float64 {
	sin, cos := math.Sincos(float64(p.Azimuth))
	up, along := math.Sincos(float64(p.Elevation))
	d := float64(p.Distance)
	return [3]float64{d * along * cos, d * along * sin, m.lasers[int(p.Ray)%len(m.lasers)].height + d*up}
}

// inBlocks are the points of a dual scan in the order of the packets' blocks of 32 records: last returns, then the others.
func (m *model) inBlocks(scan *sample.PointCloud) (list []*sample.Point) {
	pairs := m.pairs(scan)
	for first := 0; first < 1800*len(m.lasers); first += 32 {
		for _, last := range []bool{true, false} {
			for ray := range uint32(32) {
				q, ok := pairs[uint32(first)+ray]
				switch {
				case ok && last:
					list = append(list, q.last)
				case ok:
					list = append(list, q.other)
				}
			}
		}
	}
	return list
}

// grabber returns the program testdata/peers/vlp_grabber.cpp, built with Debian's PCL once for each text of it.
func grabber(t *testing.T) string {
	t.Helper()
	source := filepath.Join("testdata", "peers", "vlp_grabber.cpp")
	text, err := os.ReadFile(source)
	require.NoError(t, err)
	headers := filepath.Join(bridgetest.PeerPackages(), "pcl", "usr", "include", "pcl-1.13")
	program := filepath.Join(bridgetest.PeerPackages(), "velodyne", fmt.Sprintf("vlp_grabber-%x", sha256.Sum256(text))[:28])
	if _, err := os.Stat(program); err == nil {
		return program
	}
	require.DirExists(t, headers, "run 'make setup-peers'")
	require.NoError(t, os.MkdirAll(filepath.Dir(program), 0o755))
	building := filepath.Join(t.TempDir(), "vlp_grabber")
	bridgetest.StartProcess(t, bridgetest.Command{Name: "g++", Args: []string{
		"-O1", "-w", "-std=c++14", "-I" + headers, "-I/usr/include/eigen3", "-o", building, source, "-l:libpcl_io.so.1.13", "-l:libpcl_common.so.1.13", "-lpthread",
	}}).Wait(t)
	made, err := os.ReadFile(building)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(program+".new", made, 0o755))
	require.NoError(t, os.Rename(program+".new", program))
	return program
}

// TestPCLReadsIt: PCL's driver of the VLP-16, which has libpcap read the file, finds the points of the first
// sweeps. Its x points to the right and its y ahead, and its lasers have no height.
func TestPCLReadsIt(t *testing.T) {
	m := models(t)[0x22]
	const period = 100 * time.Millisecond
	for _, dual := range []bool{false, true} {
		dir := t.TempDir()
		b, publish := open(t, "drive.pcap", dir, "roof")
		require.NoError(t, b.Connect(t.Context()))
		var points []*sample.Point
		for seq := range 3 {
			scan := m.scanOf(stamped(seq, period), 1800, period, 0, rough(m, uint64(seq)))
			list := m.near(scan.Points)
			if dual {
				scan = m.dualOf(scan)
				list = m.inPairs(scan)
			}
			require.NoError(t, publish["roof"](t.Context(), scan))
			points = append(points, list...)
		}
		require.NoError(t, b.Close(t.Context()))
		out := filepath.Join(dir, "points")
		sweeps := bridgetest.StartProcess(t, bridgetest.Command{Name: grabber(t), Args: []string{filepath.Join(dir, "drive.pcap"), out}}).Wait(t)
		assert.Equal(t, "2", strings.TrimSpace(sweeps), "whole ones")
		data, err := os.ReadFile(out)
		require.NoError(t, err)
		got := make([][4]float32, len(data)/16)
		require.NoError(t, binary.Read(bytes.NewReader(data), binary.LittleEndian, got))
		require.Greater(t, len(got), len(points)/2)
		require.LessOrEqual(t, len(got), len(points))
		for i, q := range got {
			p := points[i]
			at := m.place(p)
			apart := math.Hypot(math.Hypot(float64(q[1])-at[0], float64(-q[0])-at[1]), float64(q[2])-at[2])
			if apart > m.unit/2+float64(p.Distance)*1e-3*math.Pi/180+math.Abs(m.lasers[p.Ring].height)+1e-3 || q[3] != p.Intensity {
				require.Fail(t, "another point", "%v: %+v, %v m apart", q, *p, apart)
			}
		}
	}
}

// inPairs are the points of a dual scan in the order in which PCL tells them: the last return of a firing, and the other one if it is another.
func (m *model) inPairs(scan *sample.PointCloud) (list []*sample.Point) {
	pairs := m.pairs(scan)
	for ray := range uint32(1800 * len(m.lasers)) {
		if q, ok := pairs[ray]; ok {
			list = append(list, q.last)
			if q.other != q.last {
				list = append(list, q.other)
			}
		}
	}
	return list
}
