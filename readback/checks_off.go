//go:build !raybridge_checks && !race

package readback

// checking is true in builds with the tag raybridge_checks or the race detector.
const checking = false

// reach does something in checking builds alone.
func reach(holdStep) {}
