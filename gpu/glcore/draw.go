//go:build cgo

package glcore

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-gl/gl/v4.5-core/gl"

	"github.com/raybridge/raybridge/gpu"
)

// program is what commands need to know of one.
type program struct {
	indexed bool // it has an int uniform at location 0, which takes gpu.DrawCall.Index
	blocks  []block
}

// CreateProgram implements gpu.Driver.
func (d *Driver) CreateProgram(desc gpu.ProgramDesc) (gpu.Handle, error) {
	d.keepErrors()
	p := gl.CreateProgram()
	label(gl.PROGRAM, p, desc.Label)
	err := build(p, &desc)
	if err == nil {
		err = drainErrors()
	}
	if err != nil {
		gl.DeleteProgram(p)
		return 0, err
	}
	d.programs[gpu.Handle(p)] = program{hasIntAtLocation0(p), blocksOf(p)}
	return gpu.Handle(p), nil
}

func build(p uint32, desc *gpu.ProgramDesc) error {
	stages := []struct {
		kind         uint32
		name, source string
	}{
		{gl.COMPUTE_SHADER, "compute", desc.Compute},
		{gl.VERTEX_SHADER, "vertex", desc.Vertex},
		{gl.FRAGMENT_SHADER, "fragment", desc.Fragment},
	}
	for _, stage := range stages {
		if stage.source == "" {
			continue
		}
		s, err := compile(stage.kind, stage.source)
		if err != nil {
			return fmt.Errorf("compile %s shader: %w", stage.name, err)
		}
		gl.AttachShader(p, s)
		gl.DeleteShader(s) // when the program no longer needs it
	}
	gl.LinkProgram(p)
	var ok int32
	if gl.GetProgramiv(p, gl.LINK_STATUS, &ok); ok == gl.FALSE {
		return fmt.Errorf("link: %w", infoLog(p, gl.GetProgramiv, gl.GetProgramInfoLog))
	}
	return nil
}

func compile(kind uint32, source string) (uint32, error) {
	s := gl.CreateShader(kind)
	text, free := gl.Strs(source)
	length := int32(len(source))
	gl.ShaderSource(s, 1, text, &length)
	free()
	gl.CompileShader(s)
	var ok int32
	if gl.GetShaderiv(s, gl.COMPILE_STATUS, &ok); ok == gl.FALSE {
		err := infoLog(s, gl.GetShaderiv, gl.GetShaderInfoLog)
		gl.DeleteShader(s)
		return 0, err
	}
	return s, nil
}

func infoLog(name uint32, get func(uint32, uint32, *int32), read func(uint32, int32, *int32, *uint8)) error {
	var length int32
	get(name, gl.INFO_LOG_LENGTH, &length)
	if length <= 1 {
		return errors.New("the driver gave no reason")
	}
	log := make([]byte, length)
	read(name, length, &length, &log[0])
	return errors.New(strings.TrimSpace(string(log[:length])))
}

// hasIntAtLocation0 tells whether p has an int uniform at location 0.
func hasIntAtLocation0(p uint32) bool {
	var uniforms int32
	gl.GetProgramInterfaceiv(p, gl.UNIFORM, gl.ACTIVE_RESOURCES, &uniforms)
	properties := [2]uint32{gl.LOCATION, gl.TYPE}
	for i := range uniforms {
		var values [2]int32
		gl.GetProgramResourceiv(p, gl.UNIFORM, uint32(i), 2, &properties[0], 2, nil, &values[0])
		if values[0] == 0 && values[1] == gl.INT {
			return true
		}
	}
	return false
}

// framebuffer is what clears and draws need to know of one.
type framebuffer struct {
	width, height int32
	integer       []bool // per colour attachment
	depth         bool
	reversed      bool
}

// CreateFramebuffer implements gpu.Driver.
func (d *Driver) CreateFramebuffer(desc gpu.FramebufferDesc, colors []gpu.Handle, depth gpu.Handle) (gpu.Handle, error) {
	d.keepErrors()
	var f uint32
	gl.CreateFramebuffers(1, &f)
	label(gl.FRAMEBUFFER, f, desc.Label)
	info := framebuffer{depth: depth != 0, reversed: desc.ReversedDepth}
	targets := make([]uint32, 0, len(colors))
	for i, t := range desc.Color {
		point := gl.COLOR_ATTACHMENT0 + uint32(i)
		attach(f, point, t.Desc(), colors[i], desc.Layer)
		targets = append(targets, point)
		info.integer = append(info.integer, formats[t.Desc().Format].integer())
		info.width, info.height = int32(t.Desc().Width), int32(t.Desc().Height)
	}
	if depth != 0 {
		attach(f, gl.DEPTH_ATTACHMENT, desc.Depth.Desc(), depth, desc.Layer)
		info.width, info.height = int32(desc.Depth.Desc().Width), int32(desc.Depth.Desc().Height)
	}
	if len(targets) > 0 {
		gl.NamedFramebufferDrawBuffers(f, int32(len(targets)), &targets[0])
	} else {
		gl.NamedFramebufferDrawBuffer(f, gl.NONE)
		gl.NamedFramebufferReadBuffer(f, gl.NONE)
	}
	err := drainErrors()
	if status := gl.CheckNamedFramebufferStatus(f, gl.FRAMEBUFFER); err == nil && status != gl.FRAMEBUFFER_COMPLETE {
		err = fmt.Errorf("attachments do not fit together (status %#x)", status)
	}
	if err != nil {
		gl.DeleteFramebuffers(1, &f)
		return 0, err
	}
	d.fbos[gpu.Handle(f)] = info
	return gpu.Handle(f), nil
}

func attach(f, point uint32, desc gpu.TextureDesc, t gpu.Handle, layer int) {
	if desc.Kind == gpu.Texture2DArray {
		gl.NamedFramebufferTextureLayer(f, point, uint32(t), 0, int32(layer))
	} else {
		gl.NamedFramebufferTexture(f, point, uint32(t), 0)
	}
}

// ClearFramebuffer implements gpu.Driver.
func (d *Driver) ClearFramebuffer(h gpu.Handle, attachments int, colors []gpu.ClearColor, depth bool) error {
	info := d.fbos[h]
	for i := range attachments {
		if info.integer[i] {
			gl.ClearNamedFramebufferuiv(uint32(h), gl.COLOR, int32(i), &colors[i].Uint[0])
		} else {
			gl.ClearNamedFramebufferfv(uint32(h), gl.COLOR, int32(i), &colors[i].Float[0])
		}
	}
	if depth {
		far := float32(1)
		if info.reversed {
			far = 0
		}
		gl.ClearNamedFramebufferfv(uint32(h), gl.DEPTH, 0, &far)
	}
	return nil
}

// state shadows the context's state, so that what does not change from one
// command to the next is not set again. Its zero value is a fresh context's.
type state struct {
	program, framebuffer uint32
	viewport             [4]int32
	cull, depth          bool
	reversed             bool
	bias                 [2]float32
}

func (s *state) forgetProgram(p uint32) {
	if s.program == p {
		s.useProgram(0)
	}
}

// forgetFramebuffer follows glDeleteFramebuffers, which binds the default one.
func (s *state) forgetFramebuffer(f uint32) {
	if s.framebuffer == f {
		s.framebuffer = 0
	}
}

func (s *state) useProgram(p uint32) {
	if s.program != p {
		gl.UseProgram(p)
		s.program = p
	}
}

func (s *state) bindFramebuffer(f uint32) {
	if s.framebuffer != f {
		gl.BindFramebuffer(gl.DRAW_FRAMEBUFFER, f)
		s.framebuffer = f
	}
}

func (s *state) setViewport(v [4]int32) {
	if s.viewport != v {
		gl.Viewport(v[0], v[1], v[2], v[3])
		s.viewport = v
	}
}

func (s *state) setCull(on bool) {
	if s.cull != on {
		enable(gl.CULL_FACE, on)
		s.cull = on
	}
}

func (s *state) setDepthTest(on bool) {
	if s.depth != on {
		enable(gl.DEPTH_TEST, on)
		s.depth = on
	}
}

// setReversed chooses the direction of depth (GL 4.5 core, section 13.5).
func (s *state) setReversed(on bool) {
	if s.reversed == on {
		return
	}
	if on {
		gl.ClipControl(gl.LOWER_LEFT, gl.ZERO_TO_ONE)
		gl.DepthFunc(gl.GREATER)
	} else {
		gl.ClipControl(gl.LOWER_LEFT, gl.NEGATIVE_ONE_TO_ONE)
		gl.DepthFunc(gl.LESS)
	}
	s.reversed = on
}

func (s *state) setBias(bias [2]float32) {
	if s.bias == bias {
		return
	}
	enable(gl.POLYGON_OFFSET_FILL, bias != [2]float32{})
	gl.PolygonOffset(bias[0], bias[1])
	s.bias = bias
}

func enable(capability uint32, on bool) {
	if on {
		gl.Enable(capability)
	} else {
		gl.Disable(capability)
	}
}

// Draw implements gpu.Driver.
func (d *Driver) Draw(h, fb gpu.Handle, bind []gpu.BoundResource, draw *gpu.Draw) error {
	info, p, s := d.fbos[fb], d.programs[h], &d.state
	if err := checkBlocks(p.blocks, bind); err != nil {
		return err
	}
	view := [4]int32{0, 0, info.width, info.height}
	if draw.Viewport != [4]int{} {
		for i, v := range draw.Viewport {
			view[i] = int32(v)
		}
	}
	s.useProgram(uint32(h))
	s.bindFramebuffer(uint32(fb))
	s.setViewport(view)
	s.setCull(draw.CullBack)
	s.setDepthTest(info.depth)
	s.setReversed(info.reversed)
	s.setBias(draw.DepthBias)
	bindAll(bind)
	for i := range draw.Calls {
		call := &draw.Calls[i]
		if p.indexed {
			gl.ProgramUniform1i(uint32(h), 0, int32(call.Index))
		}
		gl.DrawArraysInstanced(gl.TRIANGLES, int32(call.First), int32(call.Count), int32(max(call.Instances, 1)))
	}
	return nil
}

// Dispatch implements gpu.Driver.
func (d *Driver) Dispatch(h gpu.Handle, bind []gpu.BoundResource, groups [3]int) error {
	if err := checkBlocks(d.programs[h].blocks, bind); err != nil {
		return err
	}
	d.state.useProgram(uint32(h))
	bindAll(bind)
	gl.DispatchCompute(uint32(groups[0]), uint32(groups[1]), uint32(groups[2]))
	return nil
}

var accesses = [...]uint32{gpu.ReadOnly: gl.READ_ONLY, gpu.WriteOnly: gl.WRITE_ONLY, gpu.ReadWrite: gl.READ_WRITE}

func bindAll(bind []gpu.BoundResource) {
	for i := range bind {
		b := &bind[i]
		switch slot, name := uint32(b.Slot), uint32(b.Handle); b.Kind {
		case gpu.BindUniform:
			gl.BindBufferRange(gl.UNIFORM_BUFFER, slot, name, b.Offset, b.Size)
		case gpu.BindStorage:
			gl.BindBufferRange(gl.SHADER_STORAGE_BUFFER, slot, name, b.Offset, b.Size)
		case gpu.BindSampler:
			gl.BindTextureUnit(slot, name)
		case gpu.BindImage:
			layered := b.Texture == gpu.Texture2DArray
			gl.BindImageTexture(slot, name, int32(b.Level), layered, 0, accesses[b.Access], formats[b.Format].internal)
		}
	}
}

// Barrier implements gpu.Driver.
func (d *Driver) Barrier(bits gpu.BarrierBits) error {
	gl.MemoryBarrier(memoryBarrierBits(bits))
	return nil
}
