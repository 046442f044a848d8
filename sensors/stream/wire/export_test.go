package wire

// SetNative makes the package treat the machine as little-endian or not, and returns
// what it was.
func SetNative(v bool) (was bool) {
	was, native = native, v
	return was
}

// Native reports whether this machine is little-endian.
func Native() bool { return native }
