package lidar

import (
	"encoding/binary"
	"io"
	"log/slog"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/shaders"
	"github.com/raybridge/raybridge/simtime"
)

// DeviceOf is the device that settings of a scan describe.
func DeviceOf(s *sensors.Settings) (Device, error) {
	made, err := RayCastDefinition.New(sensors.Spec{Settings: s})
	if err != nil {
		return Device{}, err
	}
	return made.(*cloudLidar).device, nil
}

// EndRad is where a device's scan ends.
func (d *Device) EndRad() float64 { return d.endRad() }

// KeptShare is the share of returns kept at a transmission under CARLA's rule.
func KeptShare(s *sensors.Settings, transmission float64) float64 {
	made, err := RayCastDefinition.New(sensors.Spec{Settings: s})
	if err != nil {
		panic(err)
	}
	slope, base, limit := made.(*cloudLidar).receiver.keptShare()
	if transmission > limit {
		return 1
	}
	return slope*transmission + base
}

// WarnOfAbsent is what a lidar of these settings says at its start of the materials that a scene lacks.
func WarnOfAbsent(s *sensors.Settings, log *slog.Logger, in *scene.Scene) {
	made, err := RayCastDefinition.New(sensors.Spec{Settings: s, Rate: simtime.Hz(10)})
	if err != nil {
		panic(err)
	}
	made.(*cloudLidar).receiver.radiometry.warnOfAbsent(log, in)
}

// MaxFirings is how many rows a firing table may have.
const MaxFirings = maxFirings

// FiringTable is a table, and Timed a firing of a scan.
type FiringTable = firingTable

type Timed struct{ Row, Ns, Number uint32 }

// ParseFirings reads the rows of a table, and CloseFirings sets its period.
func ParseFirings(in io.Reader) (*FiringTable, error) { return parseFirings(in, 0) }

func CloseFirings(t *FiringTable, seconds float64) error { return t.close(seconds) }

// ReadFirings reads a file, and tells for how many rows it took memory.
func ReadFirings(path string) (rows, room int, err error) {
	t, err := readFirings(path, 0)
	if err != nil {
		return 0, 0, err
	}
	return len(t.rows), cap(t.rows), nil
}

// TableOf is a table of azimuths and elevations in degrees, so many nanoseconds apart.
func TableOf(directions [][2]float64, stepNs int64) *FiringTable {
	t := &firingTable{periodNs: stepNs * int64(len(directions))}
	for i, d := range directions {
		f := firing{ns: int64(i) * stepNs, azimuth: float32(mgl64.DegToRad(d[0])), elevation: float32(mgl64.DegToRad(d[1]))}
		t.rows = append(t.rows, f)
	}
	t.order = packetOrder(t.rows)
	return t
}

// WindowOf is the firings of a window of simulation time, and MostOf how many one of its length has at most.
func WindowOf(t *FiringTable, from, to int64) (list []Timed) {
	for _, f := range t.window(nil, from, to) {
		list = append(list, Timed{f.row, f.ns, f.number})
	}
	return list
}

func MostOf(t *FiringTable, windowNs int64) int { return t.most(windowNs, maxRays) }

// OrderOf is the rows of a window in the order in which they are traced.
func OrderOf(t *FiringTable, from, to int64) (rows []uint32) {
	o := firingOrder{list: t.window(nil, from, to)}
	o.sort(t.order)
	for _, f := range o.list {
		rows = append(rows, f.row)
	}
	return rows
}

// NumbersOf returns what a table makes of an echo's marks.
func NumbersOf(c ReturnCodes, mode sample.ReturnMode) (func(marks uint8) uint8, error) {
	n, err := c.numbers(mode)
	return func(marks uint8) uint8 {
		points := []sample.Point{{Return: marks}}
		n.number(points)
		return points[0].Return
	}, err
}

// SubRays are the angles of a beam's rays from its centre, the last RimRays of them at its rim.
func SubRays(b Beam) (list [][2]float64, rim int) {
	made := beam{Beam: b, sigma: [2]float64{1, 1}}
	return made.subRays(), rimRays
}

// NeighboursOf is, for each of the rows of a table, the rows that neighbour it, for beams of some full widths at half maximum and with rings
// as wide as some of these, and how many of its sides are open.
func NeighboursOf(t *FiringTable, width [2]float64, rings float64) (rows [][]uint32, open []int) {
	o := firingOrder{list: t.all(nil)}
	o.sort(t.order)
	n := neighbours{width: width, rings: rings}
	bytes := make([]byte, 16*shaders.NeighbourTexels*len(o.list))
	n.put(bytes, o.list, t)
	rows, open = make([][]uint32, len(t.rows)), make([]int, len(t.rows))
	for i := range o.list {
		row := o.list[i].row
		for k := range sectors {
			switch at := binary.LittleEndian.Uint32(bytes[4*(sectors*i+k):]); at {
			case noNeighbour:
			case openSide:
				open[row]++
			default:
				rows[row] = append(rows[row], o.list[at].row)
			}
		}
	}
	return rows, open
}

// Lister lists windows of a table, for beams of some full widths at half maximum.
type Lister struct {
	of    lister
	table *firingTable
}

// NewLister sets the table's longest scan.
func NewLister(t *FiringTable, windowNs int64, width [2]float64) *Lister {
	t.scan = t.most(windowNs, maxRays)
	return &Lister{lister{near: &neighbours{width: width}}, t}
}

// Ahead guesses the next window, and Wait waits for it.
func (l *Lister) Ahead(from, to int64) { l.of.ahead(l.table, l.table.windowOf(from, to)) }

func (l *Lister) Wait() { l.of.wait() }

// Make is List without its result.
func (l *Lister) Make(from, to int64) { l.of.list(l.table, l.table.windowOf(from, to)) }

// List returns the rows of a window in the order in which they are traced, and of each the places of its neighbours in eight
// sectors: -1 for none, -2 for a side that is open.
func (l *Lister) List(from, to int64) (rows []uint32, beside [][sectors]int32) {
	list := l.of.list(l.table, l.table.windowOf(from, to))
	beside = make([][sectors]int32, len(list.order.list))
	for i, f := range list.order.list {
		rows = append(rows, f.row)
		for k := range sectors {
			beside[i][k] = int32(binary.LittleEndian.Uint32(list.beside[4*(sectors*i+k):]))
		}
	}
	return rows, beside
}

// Halved is 2^-x, as lidars in a weather have it.
func Halved(x float32) float32 { return halved(x) }
