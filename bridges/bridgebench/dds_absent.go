//go:build !ros2dds

package bridgebench

// dds returns nothing: this program was built without ros2dds.
func dds() []Contest { return nil }
