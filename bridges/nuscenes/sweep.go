package nuscenes

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/bridges/dataset"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
)

// lidarAxes is nuScenes's frame of a lidar in ours: x to the right, y ahead.
var lidarAxes = spatial.FromRPY(mgl64.Vec3{}, 0, 0, -90)

// cloud writes a sweep, and labels beside where the row names a file for them: float32 x, y, z, intensity from 0 to 255 and ring.
func (w *writer) cloud(set *dataset.Set, row *dataRow, m *sample.PointCloud, actors ...[]dataset.Object) error {
	scale := float32(1)
	if m.UnitIntensity {
		scale = 255
	}
	b := w.buffers()
	defer w.pool.Put(b)
	b.data = b.data[:0]
	for i := range m.Points {
		p := &m.Points[i]
		for _, v := range [...]float32{-p.Y, p.X, p.Z, min(max(p.Intensity*scale, 0), 255), float32(p.Ring)} {
			b.data = binary.LittleEndian.AppendUint32(b.data, math.Float32bits(v))
		}
	}
	if err := set.WriteFile(row.File, b.data); err != nil || row.Labels == "" {
		return err
	}
	class := map[uint32]uint8{}
	for _, objects := range actors {
		for i := range objects {
			class[objects[i].ID] = indices[objects[i].Category]
		}
	}
	b.data = b.data[:0]
	for i := range m.Points {
		p := &m.Points[i]
		label := ofTag[p.Tag]
		if p.Instance != 0 {
			if own, ok := class[p.Instance]; ok {
				label = own
			}
		}
		b.data = append(b.data, label)
	}
	return set.WriteFile(row.Labels, b.data)
}

// radarHeader begins a radar's file, in the order of lines that the devkit reads.
const radarHeader = `# .PCD v0.7 - Point Cloud Data file format
VERSION 0.7
FIELDS x y z dyn_prop id rcs vx vy vx_comp vy_comp is_quality_valid ambig_state x_rms y_rms invalid_state pdh0 vx_rms vy_rms
SIZE 4 4 4 1 2 4 4 4 4 4 1 1 1 1 1 1 1 1
TYPE F F F I I F F F F F I I I I I I I I
COUNT 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1
WIDTH %[1]d
HEIGHT 1
VIEWPOINT 0 0 0 1 0 0 0
POINTS %[1]d
DATA binary
`

// What a radar's integers say.
const (
	moving, stationary = 0, 1
	unambiguous        = 3 // ambig_state
	slow               = 0.5
)

// radar writes a radar's sweep. A return's velocity is the part along the ray, which is what a radar measures; that over ground has the
// ego's motion taken out. A byte follows the last return: the devkit's reader wants one.
func (w *writer) radar(set *dataset.Set, name string, m *dataset.RadarSweep) error {
	b := w.buffers()
	defer w.pool.Put(b)
	b.data = fmt.Appendf(b.data[:0], radarHeader, max(1, len(m.Detections)))
	own := m.SensorVelocity()
	for i, d := range m.Detections {
		azimuth, altitude := float64(d.Azimuth), float64(d.Altitude)
		ray := mgl64.Vec3{math.Cos(altitude) * math.Cos(azimuth), math.Cos(altitude) * math.Sin(azimuth), math.Sin(altitude)}
		ground := float64(d.Velocity) + own.Dot(ray)
		b.data = appendReturn(b.data, i, ray.Mul(float64(d.Depth)), ray.Mul(float64(d.Velocity)), ray.Mul(ground))
	}
	if len(m.Detections) == 0 {
		none := mgl64.Vec3{math.NaN(), math.NaN(), math.NaN()}
		b.data = appendReturn(b.data, 0, none, none, none)
	}
	return set.WriteFile(name, append(b.data, '\n'))
}

// appendReturn appends a return: its place, and its velocities as measured and over ground, in the sensor's frame.
func appendReturn(dst []byte, id int, at, velocity, ground mgl64.Vec3) []byte {
	float := func(v float64) { dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(v))) }
	float(at[0])
	float(at[1])
	float(at[2])
	motion := byte(stationary)
	if ground.Len() > slow {
		motion = moving
	}
	dst = append(dst, motion)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(id&math.MaxInt16))
	float(0) // rcs
	float(velocity[0])
	float(velocity[1])
	float(ground[0])
	float(ground[1])
	// is_quality_valid, ambig_state, x_rms, y_rms, invalid_state, pdh0, vx_rms, vy_rms
	return append(dst, 1, unambiguous, 0, 0, 0, 1, 0, 0)
}
