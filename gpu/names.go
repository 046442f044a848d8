package gpu

import (
	"fmt"
	"strings"
)

func (k ObjectKind) String() string {
	return name(int(k), "object", "buffer", "texture", "program", "framebuffer", "fence", "query")
}

func (s FenceStatus) String() string { return name(int(s), "pending", "signaled", "failed") }

func (k BindingKind) String() string {
	return name(int(k), "unknown", "uniform", "storage", "sampler", "image")
}

func (f Format) String() string {
	return name(int(f), "none", "R8", "RGBA8", "SRGB8_A8", "R32F", "RG32F", "RGBA16F", "RGBA32F",
		"R32UI", "RG32UI", "RGBA32UI", "DEPTH32F")
}

// String lists the bits as "storage|image".
func (b BarrierBits) String() string {
	var set []string
	for i, bit := range []string{"storage", "image", "texture fetch", "buffer update", "texture update",
		"pixel buffer", "client mapped", "framebuffer", "uniform", "command"} {
		if b&(1<<i) != 0 {
			set = append(set, bit)
		}
	}
	if len(set) == 0 {
		return "none"
	}
	return strings.Join(set, "|")
}

func name(i int, names ...string) string {
	if i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("%d", i)
}
