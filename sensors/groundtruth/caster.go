package groundtruth

import (
	"unsafe"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/shaders"
)

// caster finds on the GPU which sights something stands in. It belongs to the GL
// thread.
type caster struct {
	packer   *scene.Packer
	packed   []byte
	program  *gpu.Program
	motion   *scene.CaptureTable
	settings *gpu.Buffer
	sights   *gpu.Buffer
	capacity int // of sights
	bind     []gpu.Binding
}

// settingsBlock is the shader's uniform block (std140).
type settingsBlock struct {
	count, transparent uint32
	_                  [2]uint32
	near               float32
	_                  [3]float32
}

// firstCapacity is room for the sights of a few actors; it grows as they come.
const firstCapacity = 16 * samplePoints

func (k *caster) open(c *gpu.Ctx, name string, packer *scene.Packer) (err error) {
	k.packer, k.packed = packer, make([]byte, packer.MotionBytes())
	if k.program, err = compile(c, &shaders.GroundTruthSights); err != nil {
		return err
	}
	if k.motion, err = packer.NewMotionTable(c); err != nil {
		return err
	}
	size := int(unsafe.Sizeof(settingsBlock{}))
	if k.settings, err = c.NewBuffer(gpu.BufferDesc{Label: name + " settings", Size: size}); err != nil {
		return err
	}
	return k.reserve(c, name, firstCapacity)
}

// reserve makes room for a number of sights.
func (k *caster) reserve(c *gpu.Ctx, name string, sights int) error {
	if sights <= k.capacity {
		return nil
	}
	n := max(sights, 2*k.capacity)
	buffer, err := c.NewBuffer(gpu.BufferDesc{Label: name + " sights", Size: n * int(unsafe.Sizeof(sight{}))})
	if err != nil {
		return err
	}
	if k.sights != nil {
		k.sights.Close()
	}
	k.sights, k.capacity = buffer, n
	return nil
}

// cast counts the sights that are hidden at an instant into the tallies. What
// transparent is the instance id of hides nothing, nor what is nearer than near.
func (k *caster) cast(c *gpu.Ctx, d *detector, at sensors.Tick, tallies *gpu.Buffer) error {
	list := d.survey.sights
	if len(list) == 0 {
		return nil
	}
	n, err := k.packer.Motion(k.packed, scene.Window{
		Parent: d.env.Owner, Mount: d.spec.Mount, StartNs: at.TimeNs, EndNs: at.TimeNs,
	})
	if err != nil {
		return err
	}
	if err := k.motion.Write(c, k.packed[:n]); err != nil {
		return err
	}
	if err := k.reserve(c, d.spec.Name, len(list)); err != nil {
		return err
	}
	if err := c.WriteBuffer(k.sights, 0, rawBytes(list)); err != nil {
		return err
	}
	block := settingsBlock{count: uint32(len(list)), near: float32(d.near)}
	if d.picture == nil {
		block.transparent = d.env.Owner // the ego's is 0, as that of nothing
	}
	if err := c.WriteBuffer(k.settings, 0, rawBytes([]settingsBlock{block})); err != nil {
		return err
	}
	k.bind = append(d.env.Resident.Bindings(k.bind[:0]),
		k.motion.Binding(),
		gpu.Binding{Kind: gpu.BindUniform, Slot: 0, Buffer: k.settings},
		gpu.Binding{Kind: gpu.BindStorage, Slot: 0, Buffer: tallies},
		gpu.Binding{Kind: gpu.BindStorage, Slot: 1, Buffer: k.sights},
	)
	invocations := (len(list) + shaders.TracedRays - 1) / shaders.TracedRays
	return c.Dispatch(&gpu.Dispatch{Program: k.program, Bind: k.bind, Groups: shaders.GroundTruthSights.Groups(invocations, 1, 1)})
}

func (k *caster) close() {
	if k.program != nil {
		k.program.Close()
	}
	if k.motion != nil {
		k.motion.Close()
	}
	for _, b := range []*gpu.Buffer{k.settings, k.sights} {
		if b != nil {
			b.Close()
		}
	}
}

func compile(c *gpu.Ctx, e *shaders.Entry) (*gpu.Program, error) {
	source, err := shaders.Source(e)
	if err != nil {
		return nil, err
	}
	return c.NewProgram(gpu.ProgramDesc(source))
}

// rawBytes views values as the bytes that the GPU reads, on the little-endian
// machines that raybridge runs on.
func rawBytes[T any](values []T) []byte {
	if len(values) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&values[0])), len(values)*int(unsafe.Sizeof(values[0])))
}
