//go:build raybridge_checks || race

package readback

// checking builds lend copies of the mapped bytes and overwrite them when the last lease is
// released (law R5). Code that reads after that sees poison, and the race detector names both
// sides.
const checking = true

// held is called at each step of a release and of a slot's end, on their goroutine. It is nil
// except in the tests that hold them there.
var held func(holdStep)

func reach(at holdStep) {
	if held != nil {
		held(at)
	}
}
