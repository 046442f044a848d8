//go:build raybridge_checks || race

package flow

// checking makes a block's bytes poison when its last reference is released (law R5):
// whoever reads on sees it, and the race detector sees who reads on.
const checking = true
