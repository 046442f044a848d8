//go:build raybridge_checks || race

package readback

// checking builds lend copies of the mapped bytes and overwrite them when the
// last lease is released (law R5): whoever reads on sees poison, and the race
// detector names both sides.
const checking = true
