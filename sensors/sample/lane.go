package sample

// LaneLineType is how a lane line is painted, numbered as SVL and Apollo do.
type LaneLineType uint8

// Types of lane lines.
const (
	LaneLineWhiteDashed LaneLineType = iota
	LaneLineWhiteSolid
	LaneLineYellowDashed
	LaneLineYellowSolid
)

// Places of a lane line beside the vehicle, numbered as SVL and Apollo do: negative to the
// left, positive to the right.
const (
	LaneLineEgoLeft       = -1
	LaneLineAdjacentLeft  = -2
	LaneLineEgoRight      = 1
	LaneLineAdjacentRight = 2
	LaneLineOther         = 6
	LaneLineUnknown       = 7
)

// LaneLine is one line that bounds a lane, as a camera sees it.
type LaneLine struct {
	// Width is the paint's, metres.
	Width float64
	Type  LaneLineType
	// Place counts the lines from the vehicle outwards, -5 to 5, or is LaneLineOther or
	// LaneLineUnknown.
	Place int8
	// MinX and MaxX are between which distances ahead the curve holds, metres. There the
	// line is C[0] + C[1] x + C[2] x² + C[3] x³ metres to the left.
	MinX, MaxX float64
	C          [4]float64
}

// LaneLines are the lines around a vehicle (SVL's LaneLinesData), in Header.FrameID: x
// forward, y left.
type LaneLines struct {
	Header
	Lines []LaneLine
}

// CopyToCache makes dst a deep copy, reusing dst's slice where it is large enough.
func (m *LaneLines) CopyToCache(dst *LaneLines) {
	list := append(dst.Lines[:0], m.Lines...)
	*dst = *m
	dst.Lines = list
}

// CacheKey groups all messages in one pool.
func (m *LaneLines) CacheKey() uint64 { return 0 }
