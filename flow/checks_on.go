//go:build raybridge_checks || race

package flow

// checking makes a block's bytes poison when its last reference is released (law R5). Code that
// reads after that sees it, and the race detector names that code.
const checking = true
