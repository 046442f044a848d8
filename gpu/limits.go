package gpu

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// ErrLimit says that a device's limits are too low for what was asked of it. Another device may do
// it: see Info.Limits.
var ErrLimit = errors.New("more than this device can do")

// Limits are what a device can do at most. A Ctx refuses textures, bindings and dispatches beyond
// them with ErrLimit; the driver's compiler refuses programs.
type Limits struct {
	MaxTextureSize         int // pixels a side
	MaxTextureLayers       int
	MaxTextureBufferTexels int
	MaxUniformBlockBytes   int
	MaxStorageBlockBytes   int

	// Of one stage of a program.
	MaxSamplers      int
	MaxUniformBlocks int
	MaxStorageBlocks int // of a fragment or a compute stage; a vertex stage has none
	MaxImages        int // as MaxStorageBlocks
	// MaxOutputs is of a program: storage blocks, images and colours together.
	MaxOutputs int
	// The numbers of slots that Binding.Slot may have, from 0 on.
	SamplerSlots, UniformSlots, StorageSlots, ImageSlots int
	// A Binding's Offset is a multiple of these, in bytes.
	UniformAlignment, StorageAlignment int

	MaxComputeGroups      [3]int // of a dispatch
	MaxComputeGroupSize   [3]int // invocations on each axis
	MaxComputeInvocations int    // of a group
	MaxSharedBytes        int    // of a group
}

// Guaranteed returns the limits that raybridge keeps to, so that every driver of OpenGL 4.5 core
// will do. They are the minimum values of its specification (tables 23.53 to 23.65), for alignments
// the maximum ones. Only texture buffers may be larger than the 65,536 texels of table 23.55, which
// hold no scene worth tracing: they may have the 2^27 texels that GPUs and software have had for
// years, and Info.Missing tells of a driver with fewer.
func Guaranteed() Limits {
	return Limits{
		MaxTextureSize: 16384, MaxTextureLayers: 2048, MaxTextureBufferTexels: 1 << 27,
		MaxUniformBlockBytes: 16384, MaxStorageBlockBytes: 1 << 27,
		MaxSamplers: 16, MaxUniformBlocks: 14, MaxStorageBlocks: 8, MaxImages: 8, MaxOutputs: 8,
		SamplerSlots: 96, UniformSlots: 84, StorageSlots: 8, ImageSlots: 8,
		UniformAlignment: 256, StorageAlignment: 256,
		MaxComputeGroups: [3]int{65535, 65535, 65535}, MaxComputeGroupSize: [3]int{1024, 1024, 64},
		MaxComputeInvocations: 1024, MaxSharedBytes: 32768,
	}
}

// Below names the limits that are worse than those of least, with both values.
func (l *Limits) Below(least *Limits) (names []string) {
	has, wants := reflect.ValueOf(l).Elem(), reflect.ValueOf(least).Elem()
	compare := func(name string, has, wants int) {
		if worse := has < wants; worse != strings.HasSuffix(name, "Alignment") && has != wants {
			names = append(names, fmt.Sprintf("%s %d, not %d", name, has, wants))
		}
	}
	for i := range has.NumField() {
		name, x, y := has.Type().Field(i).Name, has.Field(i), wants.Field(i)
		if x.Kind() == reflect.Int {
			compare(name, int(x.Int()), int(y.Int()))
			continue
		}
		for axis := range x.Len() {
			compare(fmt.Sprintf("%s[%d]", name, axis), int(x.Index(axis).Int()), int(y.Index(axis).Int()))
		}
	}
	return names
}

// checkTexture holds a texture against the limits.
func (l *Limits) checkTexture(d *TextureDesc) error {
	if d.Kind == TextureBuffer {
		if texels := d.Buffer.size / d.Format.PixelBytes(); texels > l.MaxTextureBufferTexels {
			return fmt.Errorf("%w: %d texels, its texture buffers have at most %d", ErrLimit, texels, l.MaxTextureBufferTexels)
		}
		return nil
	}
	if max(d.Width, d.Height) > l.MaxTextureSize || d.Layers > l.MaxTextureLayers {
		return fmt.Errorf("%w: %dx%d pixels in %d layers, its textures have at most %d a side and %d layers",
			ErrLimit, d.Width, d.Height, max(d.Layers, 1), l.MaxTextureSize, l.MaxTextureLayers)
	}
	return nil
}

// checkBinding holds a resolved binding of an object of that label against the limits.
func (l *Limits) checkBinding(b *BoundResource, label string) error {
	var slots, bytes, alignment int
	switch b.Kind {
	case BindUniform:
		slots, bytes, alignment = l.UniformSlots, l.MaxUniformBlockBytes, l.UniformAlignment
	case BindStorage:
		slots, bytes, alignment = l.StorageSlots, l.MaxStorageBlockBytes, l.StorageAlignment
	case BindSampler:
		slots = l.SamplerSlots
	case BindImage:
		slots = l.ImageSlots
	}
	switch {
	case b.Slot < 0 || b.Slot >= slots:
		return fmt.Errorf("%w: %q at %v slot %d, it has %d", ErrLimit, label, b.Kind, b.Slot, slots)
	case b.Size > bytes:
		return fmt.Errorf("%w: %d bytes of buffer %q, its %v blocks have at most %d", ErrLimit, b.Size, label, b.Kind, bytes)
	case alignment > 1 && b.Offset%alignment != 0:
		return fmt.Errorf("%w: buffer %q at %d bytes, its %v blocks begin at multiples of %d", ErrLimit, label, b.Offset, b.Kind, alignment)
	}
	return nil
}

// checkGroups holds a dispatch's work groups against the limits.
func (l *Limits) checkGroups(groups [3]int) error {
	for axis, n := range groups {
		if n > l.MaxComputeGroups[axis] {
			return fmt.Errorf("%w: %v work groups, it takes at most %v", ErrLimit, groups, l.MaxComputeGroups)
		}
	}
	return nil
}
