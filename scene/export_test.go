package scene

// TrimCache lets tests use another limit than CacheLimit.
var TrimCache = trimCache

// Resampled and SlerpCorrection are tested by their figures.
var (
	Resampled       = resampled
	SlerpCorrection = slerpCorrection
	EncodeNormal    = encodeNormal
)
