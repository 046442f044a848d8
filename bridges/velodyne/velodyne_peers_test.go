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
// calibration and its azimuths allow.
func TestFoxgloveReadsIt(t *testing.T) {
	for product, m := range models(t) {
		t.Run(m.preset, func(t *testing.T) {
			const period = 100 * time.Millisecond
			dir := t.TempDir()
			b, publish := open(t, "drive.pcap", dir, "roof")
			require.NoError(t, b.Connect(t.Context()))
			scan := m.scanOf(stamped(0, period), 1800, period, 17, rough(m, 5))
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
			assert.Equal(t, 1800/m.perPacket, said.Packets)

			data, err := os.ReadFile(path + ".points")
			require.NoError(t, err)
			points := make([][6]float64, said.Points)
			require.NoError(t, binary.Read(bytes.NewReader(data), binary.LittleEndian, points))
			// That reader gives the second column of a VLP-16's block the azimuth of the first, and
			// lasers no height.
			slack := 1e-3
			if product == 0x22 {
				slack += 0.2
			}
			n := 0
			for i := range scan.Points {
				p := &scan.Points[i]
				if p.Distance > float32(m.unit*65535.5) {
					continue
				}
				got := points[n]
				n++
				apart := math.Hypot(math.Hypot(got[0]-float64(p.X), got[1]-float64(p.Y)), got[2]-float64(p.Z))
				if math.Abs(got[3]-float64(p.Distance)) > m.unit/2+1e-5 || apart > m.unit/2+got[3]*slack*math.Pi/180+math.Abs(m.lasers[int(p.Ray)%len(m.lasers)].height)+1e-3 {
					require.Fail(t, "another point", "%v of laser %d: %+v, %v m apart", got, int(p.Ray)%len(m.lasers), *p, apart)
				}
			}
			assert.Equal(t, n, said.Points)
		})
	}
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
	dir := t.TempDir()
	b, publish := open(t, "drive.pcap", dir, "roof")
	require.NoError(t, b.Connect(t.Context()))
	var points []sample.Point
	for seq := range 3 {
		scan := m.scanOf(stamped(seq, period), 1800, period, 0, rough(m, uint64(seq)))
		require.NoError(t, publish["roof"](t.Context(), scan))
		for i := range scan.Points {
			if scan.Points[i].Distance <= float32(m.unit*65535.5) {
				points = append(points, scan.Points[i])
			}
		}
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
		p := &points[i]
		apart := math.Hypot(math.Hypot(float64(q[1]-p.X), float64(-q[0]-p.Y)), float64(q[2]-p.Z))
		if apart > m.unit/2+float64(p.Distance)*1e-3*math.Pi/180+math.Abs(m.lasers[p.Ring].height)+1e-3 || q[3] != p.Intensity {
			require.Fail(t, "another point", "%v: %+v, %v m apart", q, *p, apart)
		}
	}
}
