//go:build peers

package velodyne

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/bridgetest"
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
