package gpu

// Info describes the context that a Thread runs on.
type Info struct {
	Vendor, Renderer, Version, GLSL string
	// Software is true where the driver computes on the CPU (llvmpipe, softpipe).
	Software bool
	// Device names how the context was opened: "EGL device 0", "EGL surfaceless".
	Device string
	Limits Limits
	// TimestampBits is the size of the GPU's timestamp counter, 0 where it has none.
	TimestampBits int
	// Missing lists what the driver lacks of what raybridge can use, each
	// with what that costs; empty on a complete driver.
	Missing []string
}

// Limits are the driver's limits that raybridge's shaders come near to.
type Limits struct {
	MaxTextureSize         int // pixels
	MaxTextureLayers       int
	MaxTextureBufferTexels int
	MaxStorageBlockBytes   int
	MaxUniformBlockBytes   int
	MaxComputeGroups       [3]int
	MaxComputeInvocations  int
	MaxStorageBindings     int
}
