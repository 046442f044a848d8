//go:build race

package dispatch_test

// modelSchedules is small where the race detector makes each one slow.
const modelSchedules = 300
