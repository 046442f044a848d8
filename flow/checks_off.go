//go:build !raybridge_checks && !race

package flow

const checking = false
