//go:build cgo

package glcore

import (
	"errors"
	"fmt"
	"strings"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/glcore/internal/gl"
)

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
	d.perDraw[gpu.Handle(p)] = hasIntAtLocation0(p)
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
	gl.ShaderSource(s, source)
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

// hasIntAtLocation0 tells whether draws of p take gpu.DrawCall.Index.
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
