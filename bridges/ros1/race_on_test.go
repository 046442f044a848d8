//go:build race

package ros1_test

// raceEnabled says that the race detector allocates, too.
const raceEnabled = true
