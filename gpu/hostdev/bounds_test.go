//go:build cgo

package hostdev_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/gputest"
	"github.com/raybridge/raybridge/gpu/hostdev"
	"github.com/raybridge/raybridge/scene/scenetest"
	"github.com/raybridge/raybridge/shaders"
)

// TestBoundsAreEqual counts the pixels of actors in a picture of short runs, still and moving
// triangles among them. All is whole numbers: the shader's tallies and the kernel's are equal.
func TestBoundsAreEqual(t *testing.T) {
	const width, height = 203, 77
	s := scenetest.Soup(2, 3000, true)
	var want []uint32
	threads := []*gpu.Thread{gputest.Thread(t)}
	for _, isa := range hostdev.ISAs() {
		threads = append(threads, start(t, hostdev.Options{ISA: isa, Threads: 3}))
	}
	for _, thread := range threads {
		w := newWorld(t, thread, s)
		rng := rand.New(rand.NewPCG(8, 9))
		ids := make([][2]uint32, width*height)
		for i := 0; i < len(ids); {
			id := [2]uint32{rng.Uint32N(2000), rng.Uint32N(uint32(w.resident.Geometry.Rows() + 1))}
			for n := i + 1 + rng.IntN(9); i < min(n, len(ids)); i++ {
				ids[i] = id
			}
		}
		places := make([]uint32, 1<<16)
		for i := range places {
			places[i] = rng.Uint32N(actors + 1)
		}
		before := make([][6]uint32, actors)
		for i := range before {
			before[i] = [6]uint32{^uint32(0), ^uint32(0), 0, 0, 0, 7}
		}
		got := make([]uint32, 6*actors)
		gputest.Do(t, thread, func(c *gpu.Ctx) error {
			source, err := shaders.Source(&shaders.GroundTruthBounds)
			require.NoError(t, err)
			program, err := c.NewProgram(gpu.ProgramDesc(source))
			require.NoError(t, err)
			defer program.Close()
			visible, err := c.NewTexture(gpu.TextureDesc{Label: "visible", Format: gpu.FormatRG32UI, Width: width, Height: height})
			require.NoError(t, err)
			defer visible.Close()
			require.NoError(t, c.WriteTexture(visible, gpu.TextureRegion{}, gpu.BytesOf(ids)))
			bind := append(w.resident.Bindings(nil), gpu.Binding{Kind: gpu.BindSampler, Slot: shaders.SlotVisible, Texture: visible})
			buffers := [2]*gpu.Buffer{}
			for slot, data := range [2][]byte{gpu.BytesOf(before), gpu.BytesOf(places)} {
				buffers[slot], err = c.NewBuffer(gpu.BufferDesc{Label: "bounds", Size: len(data), Data: data})
				require.NoError(t, err)
				defer buffers[slot].Close()
				bind = append(bind, gpu.Binding{Kind: gpu.BindStorage, Slot: slot, Buffer: buffers[slot]})
			}
			require.NoError(t, c.Dispatch(&gpu.Dispatch{Program: program, Bind: bind, Groups: shaders.GroundTruthBounds.Groups(width, height, 1)}))
			require.NoError(t, c.Barrier(gpu.BarrierBufferUpdate))
			return c.ReadBuffer(buffers[0], 0, gpu.BytesOf(got))
		})
		if want == nil {
			want = got
			pixels := uint32(0)
			for i := range actors {
				pixels += want[6*i+4]
			}
			require.Greater(t, pixels, uint32(1000), "actors are seen")
		}
		require.Equal(t, want, got)
	}
}
