// Package gputest has what tests of GPU code need: Fake, a gpu.Driver without a
// GPU whose fences follow a script and which notices leaks and misuse; Delay,
// which makes a real driver's fences signal late; and, in builds with cgo, a
// live headless context that a package's tests share:
//
//	func TestMain(m *testing.M) { gputest.Main(m) }
//
//	func TestShader(t *testing.T) {
//		thread := gputest.Thread(t)
//		...
//	}
//
// Files that use the live half carry the build tag cgo. Where the machine has
// no OpenGL such tests skip and say why; with REQUIRE_GL=1 in the environment
// they fail instead.
package gputest
