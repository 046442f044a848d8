//go:build cgo

package hostdev

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/kernels"
	"github.com/raybridge/raybridge/shaders"
)

// choice is how the instruction set is chosen. Some CPUs lower their clock for the widest vectors,
// so that only figures tell whether these are the fastest.
type choice struct {
	isas    []string // of this machine, the widest first
	dir     string   // where the choice is kept, "" for nowhere
	machine string   // where the figures hold, "" for nowhere else
	build   string   // of the program
	// measure returns what the same work takes with each.
	measure func(isas []string) ([]time.Duration, error)
}

// chosen is the choice of this process.
var chosen struct {
	sync.Once
	isa string
}

// fastestISA returns the fastest instruction set. A process measures once at most, with all cores:
// the clock depends on how many are busy.
func fastestISA(dir string) string {
	chosen.Do(func() {
		threads := runtime.GOMAXPROCS(0)
		c := choice{isas: kernels.ISAs(), dir: dir, measure: func(isas []string) ([]time.Duration, error) { return measure(isas, threads) }}
		if c.machine = processor(); c.machine != "" {
			c.machine += fmt.Sprintf("threads: %d\n", threads)
		}
		c.build = build()
		chosen.isa = c.fastest()
	})
	return chosen.isa
}

// fastest takes the choice that is kept, or measures. The last instruction set, which every CPU of
// the architecture has, is never faster than another.
func (c *choice) fastest() string {
	if len(c.isas) < 3 {
		return c.isas[0]
	}
	rivals := c.isas[:2]
	kept, _ := os.ReadFile(c.path())
	for _, isa := range rivals {
		if string(kept) == c.text(isa) {
			return isa
		}
	}
	took, err := c.measure(rivals)
	if err != nil {
		return rivals[0] // who opens it is told what is missing
	}
	isa := rivals[slices.Index(took, slices.Min(took))]
	_ = c.save(isa) // what isn't kept is measured again
	return isa
}

// path is the choice's file, "" where it isn't kept.
func (c *choice) path() string {
	if c.dir == "" || c.machine == "" {
		return ""
	}
	return filepath.Join(c.dir, fmt.Sprintf("%x.isa", sha256.Sum256([]byte(c.machine))))
}

// text is what the file of a choice holds. Another build measures again.
func (c *choice) text(isa string) string {
	return fmt.Sprintf("%sbuild: %x\nfastest: %s\n", c.machine, sha256.Sum256([]byte(c.build)), isa)
}

// save keeps the choice. The file appears whole or not at all.
func (c *choice) save(isa string) error {
	if c.path() == "" {
		return nil
	}
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(c.dir, "new-*.tmp")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(c.text(isa))
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), c.path())
}

// build tells one build of the program from others, those of one commit too.
func build() (text string) {
	if info, ok := debug.ReadBuildInfo(); ok {
		text = info.String()
	}
	path, err := os.Executable()
	if err != nil {
		return text
	}
	if file, err := os.Stat(path); err == nil {
		text += fmt.Sprintf("%d bytes of %v", file.Size(), file.ModTime())
	}
	return text
}

// processor returns the lines that tell this CPU's model from others; "" where the system has none.
func processor() (model string) {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan() && lines.Text() != ""; {
		name, _, _ := strings.Cut(lines.Text(), ":")
		switch strings.TrimSpace(name) {
		case "vendor_id", "cpu family", "model", "model name", "stepping":
			model += lines.Text() + "\n"
		}
	}
	return model
}

// Turns are long enough for the clock to settle, which takes up to a millisecond. All take 40 ms,
// and what they need is made in 10 ms.
const (
	probeRounds = 4
	probeTurn   = 5 * time.Millisecond
)

// measure returns the least CPU time of a scan with each instruction set. They take turns, so that
// what else the machine does meets all.
func measure(isas []string, threads int) ([]time.Duration, error) {
	p, err := newProbe(isas, threads)
	defer p.close()
	took := slices.Repeat([]time.Duration{math.MaxInt64}, len(isas))
	for range probeRounds {
		for i := range isas {
			for end := time.Now().Add(probeTurn); err == nil && time.Now().Before(end); {
				before, cpu := time.Now(), cpuTime()
				err = p.scan(i)
				spent := cpuTime() - cpu
				if spent == 0 { // that clock is too coarse
					spent = time.Duration(threads) * time.Since(before)
				}
				took[i] = min(took[i], spent)
			}
		}
	}
	return took, err
}

// cpuTime is the process's, which waiting for a core doesn't lengthen.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // can't fail
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// probe is a lidar above rough ground, for each instruction set. It is the kernel lidar.scan with
// tables as a scene has them.
type probe struct {
	pools    []*kernels.Pool
	programs []*kernels.Program
	work     *kernels.Work
	points   *kernels.Memory
	closers  []interface{ Close() } // in the order in which they were made
}

const (
	probeCells  = 64 // a side of the ground, of a metre each; a power of 2
	probeLasers = 16
	// A thread has some blocks of columns, so that all end at about the same time.
	probeColumns = 16 * 32
)

// newProbe makes what scan needs. The probe must be closed after an error, too.
func newProbe(isas []string, threads int) (*probe, error) {
	p := &probe{}
	var err error
	if p.work, err = kernels.NewWork(); err != nil {
		return p, err
	}
	p.closers = append(p.closers, p.work)
	var ground terrain
	_, _, root := ground.add(0, 0, probeCells)
	motion := make([]float32, 24) // one key: the sensor stands in the middle
	motion[0], motion[7] = 1, math.Float32frombits(root)
	motion[8], motion[9], motion[10], motion[15] = probeCells/2, probeCells/2, 4, 1
	zeros := make([]float32, len(ground.planes))
	for slot, table := range map[int][]float32{
		shaders.SlotNodes: ground.nodes, shaders.SlotTriangles: ground.planes, shaders.SlotVertices: ground.vertices,
		shaders.SlotAttributes: zeros, shaders.SlotMaterials: zeros[:16], shaders.SlotMovers: zeros[:8],
		shaders.SlotMotion: motion, shaders.SlotScan: firings(threads * probeColumns),
	} {
		if err := p.sampler(gpu.BytesOf(table), kernels.Shape{Kind: int(gpu.TextureBuffer), Format: int(gpu.FormatRGBA32F), Width: len(table) / 4}, slot); err != nil {
			return p, err
		}
	}
	picture := kernels.Shape{Kind: int(gpu.Texture2DArray), Format: int(gpu.FormatRGBA8), Width: 1, Height: 1, Layers: 1, Levels: 1, Offsets: []int{0}}
	if err := p.sampler(make([]byte, 4), picture, shaders.SlotColorTextures, shaders.SlotDataTextures); err != nil {
		return p, err
	}
	light := []float32{0.004, 0.02, 0.01, 0.8, -0.5, 0.4, 0, 0} // some noise and some lost returns
	settings := slices.Concat(gpu.BytesOf([]uint32{probeLasers, uint32(threads * probeColumns), 1, 0, 5, 6, 0, 0}), gpu.BytesOf(light))
	set, err := p.memory(len(settings))
	if err != nil {
		return p, err
	}
	copy(set.Bytes(), settings)
	size := 48 * probeLasers * threads * probeColumns
	if p.points, err = p.memory(size); err != nil {
		return p, err
	}
	if err := errors.Join(p.work.Uniform(0, set, 0, len(settings)), p.work.Storage(0, p.points, 0, size)); err != nil {
		return p, err
	}
	for i, isa := range isas {
		if err := p.arm(isa, threads); err != nil {
			return p, err
		}
		if err := p.scan(i); err != nil { // the first makes the hierarchy and touches the memory
			return p, err
		}
	}
	return p, nil
}

// memory makes memory that close frees.
func (p *probe) memory(size int) (*kernels.Memory, error) {
	m, err := kernels.NewMemory(size)
	if err == nil {
		p.closers = append(p.closers, m)
	}
	return m, err
}

// sampler binds data as a texture.
func (p *probe) sampler(data []byte, shape kernels.Shape, slots ...int) error {
	m, err := p.memory(len(data))
	if err != nil {
		return err
	}
	copy(m.Bytes(), data)
	t, err := kernels.NewTexture(m, shape)
	if err != nil {
		return err
	}
	p.closers = append(p.closers, t)
	for _, slot := range slots {
		err = errors.Join(err, p.work.Sampler(slot, t))
	}
	return err
}

// arm adds an instruction set.
func (p *probe) arm(isa string, threads int) error {
	pool, err := kernels.Open(isa, threads)
	if err != nil {
		return err
	}
	p.pools, p.closers = append(p.pools, pool), append(p.closers, pool)
	program, err := pool.NewProgram(shaders.Lidar.Name, map[string]int{"SCALE": 1, "RANDOM": 1})
	if err != nil {
		return err
	}
	p.programs, p.closers = append(p.programs, program), append(p.closers, program)
	return nil
}

// scan fires all lasers once with an instruction set. The points are the same bits with each.
func (p *probe) scan(i int) error {
	p.work.Dispatch(p.programs[i], [3]int{})
	return p.pools[i].Run(p.work)
}

func (p *probe) close() {
	for _, c := range slices.Backward(p.closers) {
		c.Close()
	}
}

// firings is the table of lidar_scan.comp.
func firings(columns int) (table []float32) {
	for l := range probeLasers {
		up, along := math.Sincos(-0.5 + 0.03*float64(l))
		table = append(table, float32(along), float32(up), 1, 0, 0, 0, 0, 100, 0, 0, 0, 0)
	}
	for c := range columns {
		sin, cos := math.Sincos(2 * math.Pi * float64(c) / float64(columns))
		table = append(table, float32(cos), float32(sin), 0, 0)
	}
	return table
}

// terrain is rough ground of two triangles a cell, in the tables of shaders/lib/scene.glsl.
type terrain struct{ nodes, planes, vertices []float32 }

// height is that of a corner of cells, in metres.
func height(x, y int) float32 { return float32((x*x+3*x*y+7*y*y)%23) / 16 }

// add adds size x size cells from x, y on. It returns the least and the greatest height there, and
// the reference of their node or leaf.
func (t *terrain) add(x, y, size int) (low, high float32, ref uint32) {
	const leaf, valid, two = 1 << 31, 1 << 30, 1 << 26
	if size == 1 {
		ref = uint32(leaf | valid | two | len(t.planes)/12)
		t.triangle(x, y, 1)
		t.triangle(x+1, y+1, -1)
		corners := []float32{height(x, y), height(x+1, y), height(x, y+1), height(x+1, y+1)}
		return slices.Min(corners), slices.Max(corners), ref
	}
	const floats = 28 // of a node
	at := len(t.nodes)
	t.nodes = append(t.nodes, make([]float32, floats)...)
	low, high = math.MaxFloat32, -math.MaxFloat32
	for i := range 4 {
		part := size / 2
		left, front := x+i%2*part, y+i/2*part
		bottom, top, ref := t.add(left, front, part)
		box := [7]float32{float32(left), float32(left + part), float32(front), float32(front + part), bottom, top, math.Float32frombits(ref)}
		for k, v := range box {
			t.nodes[at+4*k+i] = v
		}
		low, high = min(low, bottom), max(high, top)
	}
	return low, high, uint32(valid | at/floats)
}

// triangle adds the triangle of a corner and its neighbours by step along x and along y.
func (t *terrain) triangle(x, y, step int) {
	h, hx, hy := height(x, y), height(x+step, y), height(x, y+step)
	s, cx, cy := float32(step), float32(x), float32(y)
	dx, dy := s*(hx-h), s*(hy-h) // the slopes
	t.planes = append(t.planes, -dx, -dy, 1, dx*cx+dy*cy-h, s, 0, 0, -s*cx, 0, s, 0, -s*cy)
	t.vertices = append(t.vertices, cx, cy, h, 0, cx+s, cy, hx, 0, cx, cy+s, hy, 0)
}
