package rossample_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/bridges/internal/rossample"
	"github.com/raybridge/raybridge/bridges/ros"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

// layouts are all layouts of a point.
var layouts = []sample.PointLayout{
	sample.LayoutXYZIRCAEDT, sample.LayoutXYZIRT, sample.LayoutXYZI, sample.LayoutSVL, sample.LayoutCARLA, sample.LayoutCARLASemantic,
}

// bytesOf converts a cloud into memory that holds something else before.
func bytesOf(tb testing.TB, m *sample.PointCloud) []byte {
	tb.Helper()
	var dst ros.PointCloud2
	require.NoError(tb, rossample.PointCloud2(&dst, m))
	data := bytes.Repeat([]byte{0xa5}, dst.Data.Len())
	dst.Data.Put(data)
	return data
}

// field reads a little-endian field of a point as a number.
func field(t *testing.T, f *ros.PointField, point []byte) float64 {
	t.Helper()
	at := point[f.Offset:]
	switch f.Datatype {
	case ros.PointFieldUint8:
		return float64(at[0])
	case ros.PointFieldUint16:
		return float64(binary.LittleEndian.Uint16(at))
	case ros.PointFieldUint32:
		return float64(binary.LittleEndian.Uint32(at))
	case ros.PointFieldFloat32:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(at)))
	case ros.PointFieldFloat64:
		return math.Float64frombits(binary.LittleEndian.Uint64(at))
	}
	t.Fatalf("field %s has datatype %d", f.Name, f.Datatype)
	return 0
}

// Every field of every point of clouds of many sizes, read by the message's own
// description; organized clouds' rings are shuffled.
func TestFieldsAreThePoints(t *testing.T) {
	const rings = 16
	want := map[string]func(m *sample.PointCloud, p *sample.Point) float64{
		"x":           func(_ *sample.PointCloud, p *sample.Point) float64 { return float64(p.X) },
		"y":           func(_ *sample.PointCloud, p *sample.Point) float64 { return float64(p.Y) },
		"z":           func(_ *sample.PointCloud, p *sample.Point) float64 { return float64(p.Z) },
		"return_type": func(_ *sample.PointCloud, p *sample.Point) float64 { return float64(p.Return) },
		"channel":     func(_ *sample.PointCloud, p *sample.Point) float64 { return float64(p.Ring) },
		"ring":        func(_ *sample.PointCloud, p *sample.Point) float64 { return float64(p.Ring) },
		"azimuth":     func(_ *sample.PointCloud, p *sample.Point) float64 { return float64(p.Azimuth) },
		"elevation":   func(_ *sample.PointCloud, p *sample.Point) float64 { return float64(p.Elevation) },
		"distance":    func(_ *sample.PointCloud, p *sample.Point) float64 { return float64(p.Distance) },
		"time_stamp":  func(_ *sample.PointCloud, p *sample.Point) float64 { return float64(p.TimeNs) },
		"time":        func(_ *sample.PointCloud, p *sample.Point) float64 { return float64(float32(float64(p.TimeNs) * 1e-9)) },
		"timestamp": func(m *sample.PointCloud, p *sample.Point) float64 {
			return float64(m.Stamp+simtime.Stamp(p.TimeNs)) / 1e9
		},
		"CosAngle": func(_ *sample.PointCloud, p *sample.Point) float64 { return float64(p.CosIncidence) },
		"ObjIdx":   func(_ *sample.PointCloud, p *sample.Point) float64 { return float64(p.Instance) },
		"ObjTag":   func(_ *sample.PointCloud, p *sample.Point) float64 { return float64(p.Tag) },
	}
	for _, layout := range layouts {
		for _, columns := range []int{0, 1, 7, 8, 9, 50} {
			m := &sample.PointCloud{Header: header("l"), Layout: layout, Organized: columns > 0, Rings: rings, Columns: columns}
			for i := range max(rings*columns, 77) {
				f := float32(i)
				m.Points = append(m.Points, sample.Point{
					X: f, Y: -f, Z: f / 2, Intensity: float32(i % 256), Distance: 3 * f, Azimuth: f / 7, Elevation: -f / 9, TimeNs: uint32(100 * i),
					Ring: uint16(i * 7 % rings), Return: 1, Tag: uint8(i % 23), Instance: uint32(i) << 12, CosIncidence: 1 / (f + 1), Ray: uint32(i),
				})
			}
			if m.Organized {
				m.Points = m.Points[:rings*columns]
			}
			var dst ros.PointCloud2
			require.NoError(t, rossample.PointCloud2(&dst, m))
			data, step := bytesOf(t, m), int(dst.PointStep)
			require.Len(t, data, len(m.Points)*step)
			for i := range m.Points {
				p, at := &m.Points[i], i
				if m.Organized {
					at = int(p.Ring)*columns + i/rings
				}
				point, seen := data[at*step:][:step], make([]bool, step)
				for k := range dst.PointFields {
					f := &dst.PointFields[k]
					value, known := want[f.Name]
					if f.Name == "intensity" {
						value, known = func(*sample.PointCloud, *sample.Point) float64 { return float64(p.Intensity) }, true
					}
					require.True(t, known, f.Name)
					require.Equal(t, value(m, p), field(t, f, point), "%s %s of point %d", layout, f.Name, i)
					for b := range map[uint8]int{1: 1, 2: 1, 3: 2, 4: 2, 5: 4, 6: 4, 7: 4, 8: 8}[f.Datatype] {
						seen[int(f.Offset)+b] = true
					}
				}
				for b, used := range seen {
					if !used {
						require.Zero(t, point[b], "%s: byte %d is padding", layout, b)
					}
				}
			}
		}
	}
}

// Points of a firing lie side by side: an organized cloud has columns times their number of columns. Layouts of simulators
// that know one return have the bytes of the strongest points alone. Reading gives back all that was written.
func TestFiringsOfSeveralPoints(t *testing.T) {
	const rings, columns = 4, 6
	nan, none := float32(math.NaN()), float32(math.Inf(1))
	for mode, kinds := range map[sample.ReturnMode][][]uint8{
		sample.DualReturns:   {{3, 6}, {7, 0}, {4, 5}, {0, 0}},
		sample.TripleReturns: {{3, 6, 5}, {7, 0, 0}, {4, 5, 0}, {0, 0, 0}},
	} {
		whole := &sample.PointCloud{Header: header("l"), Organized: true, Rings: rings, Columns: columns, Returns: mode}
		for ray := range rings * columns {
			for k, kind := range kinds[ray*7%len(kinds)] {
				f := float32(ray) + float32(k)/4
				p := sample.Point{
					X: f, Y: -f, Z: f / 2, Intensity: float32(40 - k), Distance: 3 * f, Azimuth: float32(ray/rings) / 7, Elevation: float32(ray%rings) / 9,
					TimeNs: uint32(100 * ray), Ring: uint16(ray * 3 % rings), Return: kind, Instance: uint32(ray + k), Ray: uint32(ray),
				}
				if kind == 0 {
					p.X, p.Y, p.Z, p.Distance = nan, nan, nan, none
				}
				whole.Points = append(whole.Points, p)
			}
		}
		returns := withoutMisses(whole)
		strongest := *whole
		strongest.Returns, strongest.Points = "", nil
		for i := 0; i < len(whole.Points); i += mode.Points() {
			strongest.Points = append(strongest.Points, whole.Points[i])
		}
		dense := withoutMisses(&strongest)
		for _, layout := range layouts {
			whole.Layout, returns.Layout, strongest.Layout, dense.Layout = layout, layout, layout, layout
			if layout == sample.LayoutCARLA || layout == sample.LayoutCARLASemantic || layout == sample.LayoutSVL {
				assert.Equal(t, bytesOf(t, &strongest), bytesOf(t, whole), layout)
				assert.Equal(t, bytesOf(t, dense), bytesOf(t, returns), layout)
				continue
			}
			var cloud ros.PointCloud2
			require.NoError(t, rossample.PointCloud2(&cloud, whole))
			assert.Equal(t, []uint32{rings, uint32(columns * mode.Points())}, []uint32{cloud.Height, cloud.Width}, layout)
			data, step := bytesOf(t, whole), int(cloud.PointStep)
			for i := range whole.Points {
				firing, k := i/mode.Points(), i%mode.Points()
				at := int(whole.Points[i].Ring)*int(cloud.Width) + firing/rings*mode.Points() + k
				require.Equal(t, math.Float32bits(whole.Points[i].X), binary.LittleEndian.Uint32(data[at*step:]), "%s, point %d", layout, i)
			}
		}
		for i, m := range []*sample.PointCloud{whole, returns, whole, returns} {
			m.Layout = sample.LayoutXYZIRCAEDT
			convert := rossample.PointCloud2
			if i > 1 {
				convert = rossample.WholePointCloud2
			}
			var cloud ros.PointCloud2
			require.NoError(t, convert(&cloud, m))
			data := make([]byte, cloud.Data.Len())
			cloud.Data.Put(data)
			cloud.Data = ros.Bytes{Data: data}
			read, err := rossample.FromPointCloud2(&cloud)
			require.NoError(t, err)
			got := read.(*sample.PointCloud)
			assert.Equal(t, mode, got.Returns)
			assert.Equal(t, m.Organized, got.IsWhole() && got.Columns == columns)
			require.Len(t, got.Points, len(m.Points))
			for i := 1; i < len(got.Points); i++ {
				assert.Equal(t, m.Points[i].Ray == m.Points[i-1].Ray, got.Points[i].Ray == got.Points[i-1].Ray, "point %d", i)
			}
			var again ros.PointCloud2
			require.NoError(t, convert(&again, got))
			written := make([]byte, again.Data.Len())
			again.Data.Put(written)
			assert.Equal(t, data, written, "what was read is written as it was")
		}
	}
}

// withoutMisses is an organized cloud's returns alone.
func withoutMisses(m *sample.PointCloud) *sample.PointCloud {
	dense := *m
	dense.Organized = false
	dense.Points = slices.DeleteFunc(slices.Clone(m.Points), func(p sample.Point) bool { return p.Return == sample.ReturnUnknown })
	return &dense
}

func TestUnitIntensityFillsAByte(t *testing.T) {
	m := unitCloud()
	m.Layout = sample.LayoutXYZIRCAEDT
	data := bytesOf(t, m)
	var got []byte
	for i := range m.Points {
		got = append(got, data[32*i+12])
	}
	assert.Equal(t, []byte{0, 128, 255, 255, 64, 0}, got, "to the nearest")
}

// The same bytes from one worker and from many at a time, on one processor and on four.
func TestWorkersConvertAlike(t *testing.T) {
	m := scanOf(32, 200)
	for _, layout := range layouts {
		for _, organized := range []bool{false, true} {
			m.Layout, m.Organized = layout, organized
			want := bytesOf(t, m)
			for _, processors := range []int{1, 4} {
				before := runtime.GOMAXPROCS(processors)
				var workers sync.WaitGroup
				got := make([][]byte, 4)
				for i := range got {
					workers.Go(func() { got[i] = bytesOf(t, m) })
				}
				workers.Wait()
				runtime.GOMAXPROCS(before)
				for i := range got {
					assert.True(t, bytes.Equal(want, got[i]), "%s, organized %v, worker %d of %d processors", layout, organized, i, processors)
				}
			}
		}
	}
}

// bigCloud is a scan of 230,400 rays.
func bigCloud() *sample.PointCloud { return scanOf(128, 1800) }

// scanOf is a scan whose rings, a power of two of them, fire out of order.
func scanOf(rings, columns int) *sample.PointCloud {
	m := &sample.PointCloud{Header: header("lidar_top"), Rings: rings, Columns: columns}
	for i := range rings * columns {
		m.Points = append(m.Points, sample.Point{
			X: float32(i), Y: float32(i) / 2, Intensity: float32(i % 256), Ring: uint16(i * 37 % rings), TimeNs: uint32(i) * 400,
		})
	}
	return m
}

// BenchmarkPointBytes is what converting the points takes on one goroutine, without
// the rest of the message.
func BenchmarkPointBytes(b *testing.B) {
	src := bigCloud()
	for _, layout := range layouts {
		for _, organized := range []bool{false, true} {
			b.Run(string(layout)+map[bool]string{true: "_organized"}[organized], func(b *testing.B) {
				src.Layout, src.Organized = layout, organized
				var m ros.PointCloud2
				require.NoError(b, rossample.PointCloud2(&m, src))
				data := make([]byte, m.Data.Len())
				b.SetBytes(int64(len(data)))
				b.ReportAllocs()
				for b.Loop() {
					if err := rossample.PointCloud2(&m, src); err != nil {
						b.Fatal(err)
					}
					m.Data.Put(data)
				}
			})
		}
	}
}
