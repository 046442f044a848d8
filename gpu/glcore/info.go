//go:build cgo

package glcore

import (
	"fmt"
	"strings"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/gpu/glcore/internal/gl"
)

func (d *Driver) readInfo(opts Options) error {
	d.info = gpu.Info{
		Vendor: gl.GetString(gl.VENDOR), Renderer: gl.GetString(gl.RENDERER),
		Version: gl.GetString(gl.VERSION), GLSL: gl.GetString(gl.SHADING_LANGUAGE_VERSION),
		Device: opts.Device,
	}
	major, minor := getInt(gl.MAJOR_VERSION), getInt(gl.MINOR_VERSION)
	if major*10+minor < 45 {
		return TooOld(d.info.Version, d.info.Renderer)
	}
	d.info.Software = softwareRenderer(d.info.Renderer)
	d.info.Limits = gpu.Limits{
		MaxTextureSize:         getInt(gl.MAX_TEXTURE_SIZE),
		MaxTextureLayers:       getInt(gl.MAX_ARRAY_TEXTURE_LAYERS),
		MaxTextureBufferTexels: getInt(gl.MAX_TEXTURE_BUFFER_SIZE),
		MaxStorageBlockBytes:   getInt(gl.MAX_SHADER_STORAGE_BLOCK_SIZE),
		MaxUniformBlockBytes:   getInt(gl.MAX_UNIFORM_BLOCK_SIZE),
		MaxComputeInvocations:  getInt(gl.MAX_COMPUTE_WORK_GROUP_INVOCATIONS),
		MaxStorageBindings:     getInt(gl.MAX_SHADER_STORAGE_BUFFER_BINDINGS),
	}
	for axis := range d.info.Limits.MaxComputeGroups {
		var n int32
		gl.GetIntegeri_v(gl.MAX_COMPUTE_WORK_GROUP_COUNT, uint32(axis), &n)
		d.info.Limits.MaxComputeGroups[axis] = int(n)
	}
	var bits int32
	gl.GetQueryiv(gl.TIMESTAMP, gl.QUERY_COUNTER_BITS, &bits)
	d.info.TimestampBits = int(bits)
	d.info.Missing = append(d.info.Missing, missing(&d.info, getInt(gl.RESET_NOTIFICATION_STRATEGY))...)
	return nil
}

// TooOld is the error for a driver below OpenGL 4.5.
func TooOld(version, renderer string) error {
	return &gpu.UnsupportedError{
		Feature: "OpenGL 4.5 core",
		Need: fmt.Sprintf("the driver %q offers version %q only: install a newer one (Mesa 18 or newer, any vendor driver since 2015) or choose another device",
			renderer, version),
	}
}

// Sizes below which scenes and clouds of everyday size do not fit. OpenGL 4.5
// guarantees less (65,536 texels, 16 MiB).
const (
	wantTexels       = 1 << 24
	wantStorageBytes = 64 << 20
)

// missing lists what a driver lacks, each with what that costs.
func missing(info *gpu.Info, resetStrategy int) []string {
	var list []string
	if info.TimestampBits == 0 {
		list = append(list, "GPU timestamps: captures carry no GPU times")
	}
	if resetStrategy != gl.LOSE_CONTEXT_ON_RESET {
		list = append(list, "reset notification: a GPU reset is noticed by failing commands only")
	}
	if n := info.Limits.MaxTextureBufferTexels; n < wantTexels {
		list = append(list, fmt.Sprintf("large texture buffers: %d texels, scenes of more than about %d triangles don't fit", n, n/4))
	}
	if n := info.Limits.MaxStorageBlockBytes; n < wantStorageBytes {
		list = append(list, fmt.Sprintf("large storage blocks: %d MiB, images and clouds above that don't fit", n>>20))
	}
	return list
}

// softwareRenderer knows Mesa's and Google's renderers that compute on the CPU.
func softwareRenderer(renderer string) bool {
	for _, name := range []string{"llvmpipe", "softpipe", "swr", "swrast", "swiftshader", "software"} {
		if strings.Contains(strings.ToLower(renderer), name) {
			return true
		}
	}
	return false
}

func getInt(name uint32) int {
	var n int32
	gl.GetIntegerv(name, &n)
	return int(n)
}

// Identify returns the version and renderer of whatever context is current on
// the calling thread, for the error that names a driver below 4.5.
func Identify(loader Loader) (version, renderer string) {
	if loadFunctions(loader) != nil {
		return "", ""
	}
	return gl.GetString(gl.VERSION), gl.GetString(gl.RENDERER)
}
