package carla_test

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/raybridge/raybridge/bridges/carla"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/stretchr/testify/assert"
)

// grouped writes a scan the plain way: a list for each channel.
func grouped(m *sample.PointCloud) []byte {
	lists := make([][]byte, m.Rings)
	for _, p := range m.Points {
		if !m.Organized || p.Return != sample.ReturnUnknown {
			k := int(p.Ray) % m.Rings
			lists[k] = append(lists[k], floats(p.X, -p.Y, p.Z, p.Intensity/255)...)
		}
	}
	out := binary.LittleEndian.AppendUint32(floats(0), uint32(m.Rings))
	for _, list := range lists {
		out = binary.LittleEndian.AppendUint32(out, uint32(len(list)/16))
	}
	for _, list := range lists {
		out = append(out, list...)
	}
	return out
}

// TestPointsAreGroupedByChannel: of whole scans and others, in any order, also where the
// rays are not what they should be.
func TestPointsAreGroupedByChannel(t *testing.T) {
	const rings, columns = 7, 11
	random := rand.New(rand.NewPCG(1, 2))
	scan := func(edit func(m *sample.PointCloud)) *sample.PointCloud {
		m := &sample.PointCloud{Header: header(), Rings: rings, Columns: columns}
		for ray := range uint32(rings * columns) {
			m.Points = append(m.Points, sample.Point{
				X: random.Float32(), Y: random.Float32(), Z: random.Float32(), Intensity: 255 * float32(ray%2),
				Ray: ray, Return: sample.ReturnStrongest,
			})
		}
		edit(m)
		return m
	}
	shuffle := func(m *sample.PointCloud) {
		random.Shuffle(len(m.Points), func(i, k int) { m.Points[i], m.Points[k] = m.Points[k], m.Points[i] })
	}
	var c carla.CloudEncoder // one for all: a stream's scans may change
	for name, m := range map[string]*sample.PointCloud{
		"whole":         scan(func(*sample.PointCloud) {}),
		"shuffled":      scan(shuffle),
		"with misses":   scan(func(m *sample.PointCloud) { m.Points = append(m.Points[:20:20], m.Points[37:]...) }),
		"one channel":   scan(func(m *sample.PointCloud) { m.Rings, m.Columns = 1, rings*columns }),
		"empty":         scan(func(m *sample.PointCloud) { m.Points = nil }),
		"all of a kind": scan(func(m *sample.PointCloud) { clear(m.Points) }),
		"one too many of the last": scan(func(m *sample.PointCloud) {
			m.Points[0].Ray = rings - 1
		}),
		"organized": scan(func(m *sample.PointCloud) {
			m.Organized = true
			for i := range m.Points {
				m.Points[i].Return = uint8(random.IntN(2))
			}
		}),
		"unorganized, without a kind of return": scan(func(m *sample.PointCloud) { m.Points[3].Return = sample.ReturnUnknown }),
	} {
		want := grouped(m)
		assert.Equal(t, want, carla.AppendLidar(&c, nil, m), name)

		// CARLA has the strongest return of a firing alone, which is the first.
		dual := *m
		dual.Returns, dual.Points = sample.DualReturns, nil
		for i, p := range m.Points {
			weak := p
			if weak.X += 5; m.Organized && i%3 == 0 {
				weak.Return = sample.ReturnUnknown
			}
			if dual.Points = append(dual.Points, p); m.Organized || i%3 > 0 {
				dual.Points = append(dual.Points, weak)
			}
		}
		if name != "shuffled" && name != "all of a kind" && name != "one too many of the last" { // these have one ray more than once
			assert.Equal(t, want, carla.AppendLidar(&c, nil, &dual), "%s, two returns", name)
		}
	}
}
