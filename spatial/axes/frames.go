package axes

// Names of coordinate frames (REP-105), without a leading slash.
const (
	// FrameEarth is earth-centred and earth-fixed.
	FrameEarth = "earth"
	// FrameMap is fixed to the world: east, north, up.
	FrameMap = "map"
	// FrameOdom is fixed to the world, but drifts.
	FrameOdom = "odom"
	// FrameBaseLink is the vehicle's.
	FrameBaseLink = "base_link"
)

// Suffixes of frames whose axes are others than forward, left and up (REP-103).
const (
	SuffixOptical = "_optical"
	SuffixNED     = "_ned"
)
