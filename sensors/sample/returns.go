package sample

// ReturnMode says which echoes of a firing a lidar reports, as devices name it. Empty means StrongestReturn.
type ReturnMode string

// Return modes.
const (
	StrongestReturn ReturnMode = "strongest"
	LastReturn      ReturnMode = "last"
	FirstReturn     ReturnMode = "first"
	// DualReturns reports the strongest and the last. If these are one echo, the other is the second strongest, and a
	// firing that has one echo alone has one point.
	DualReturns ReturnMode = "dual"
	// TripleReturns reports the strongest, the last and the first, each echo once.
	TripleReturns ReturnMode = "triple"
)

// Values returns all of them.
func (ReturnMode) Values() []string {
	return []string{string(StrongestReturn), string(LastReturn), string(FirstReturn), string(DualReturns), string(TripleReturns)}
}

// Points is how many points a firing has, if it has that many echoes: 1, 2 or 3.
func (r ReturnMode) Points() int {
	switch r {
	case DualReturns:
		return 2
	case TripleReturns:
		return 3
	}
	return 1
}
