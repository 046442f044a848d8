//go:build cgo

package glcore

import (
	"fmt"

	"github.com/go-gl/gl/v4.5-core/gl"

	"github.com/raybridge/raybridge/gpu"
)

// block is an active uniform or storage block of a program. A block that is declared with layout std140
// or std430 is active even if nothing uses it, and a command is undefined unless a buffer of sufficient
// size is bound to each active block (GL 4.5 core, sections 7.6.3 and 7.8). If one block has no buffer,
// Mesa's zink gives all dispatches of a submission the storage buffers of the first.
type block struct {
	kind gpu.BindingKind
	name string
	slot int
	// size is a uniform block's bytes. A storage block's isn't checked: Mesa rounds what it asks for up to
	// whole vectors, and would have small buffers refused that hold all that is read and written.
	size int
}

// blocksOf lists the active blocks of a linked program.
func blocksOf(p uint32) []block {
	var list []block
	for _, of := range []struct {
		kind gpu.BindingKind
		list uint32 // OpenGL's
	}{{gpu.BindUniform, gl.UNIFORM_BLOCK}, {gpu.BindStorage, gl.SHADER_STORAGE_BLOCK}} {
		var count int32
		gl.GetProgramInterfaceiv(p, of.list, gl.ACTIVE_RESOURCES, &count)
		for i := range uint32(count) {
			properties := [...]uint32{gl.BUFFER_BINDING, gl.BUFFER_DATA_SIZE, gl.NAME_LENGTH}
			var values [len(properties)]int32
			gl.GetProgramResourceiv(p, of.list, i, int32(len(properties)), &properties[0], int32(len(values)), nil, &values[0])
			name := make([]byte, max(values[2], 1)) // a lost context has no names
			gl.GetProgramResourceName(p, of.list, i, int32(len(name)), nil, &name[0])
			b := block{kind: of.kind, name: gl.GoStr(&name[0]), slot: int(values[0])}
			if of.kind == gpu.BindUniform {
				b.size = int(values[1])
			}
			list = append(list, b)
		}
	}
	return list
}

// checkBlocks returns an error if a command leaves a block of its program without a buffer.
func checkBlocks(blocks []block, bind []gpu.BoundResource) error {
	for i := range blocks {
		if err := blocks[i].check(bind); err != nil {
			return err
		}
	}
	return nil
}

func (b *block) check(bind []gpu.BoundResource) error {
	for i := range bind {
		if r := &bind[i]; r.Kind == b.kind && r.Slot == b.slot {
			if r.Size < b.size {
				return fmt.Errorf("the %s block %q needs %d bytes, and the buffer at binding %d has %d", b.kind, b.name, b.size, b.slot, r.Size)
			}
			return nil
		}
	}
	return fmt.Errorf("the %s block %q has no buffer: bind one at %d, or leave the block out of the shader", b.kind, b.name, b.slot)
}
