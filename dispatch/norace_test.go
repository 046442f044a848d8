//go:build !race

package dispatch_test

const modelSchedules = 2000
