//go:build !raybridge_checks && !race

package buffer

const checking = false
