package lidar

import (
	"fmt"

	"github.com/raybridge/raybridge/sensors"
	"github.com/raybridge/raybridge/sensors/sample"
)

// ReturnCodes names a table of numbers that say which echo of its firing a point is.
type ReturnCodes string

const (
	// autowareCodes are autoware_point_types' ReturnType. Autoware's filters of echoes in rain and fog take those of ReturnWeakFirst.
	autowareCodes ReturnCodes = "autoware"
	// nebulaCodes are those of Nebula, the driver (nebula_common, ReturnType).
	nebulaCodes ReturnCodes = "nebula"
	// velodyneCodes are those that velodyne_decoder reads from the packets of a scan.
	velodyneCodes ReturnCodes = "velodyne"
)

// Marks of an echo, as the device writes them into sample.Point.Return: 0 without an echo. markOnly and markSecond are set only
// where a firing has several points.
const (
	markStrongest = 1 << iota
	markLast
	markFirst
	markOnly   // the firing has no other echo
	markSecond // the second strongest
	marks      = 1 << iota
)

// Nebula's numbers.
const (
	nebulaLast           = 1
	nebulaFirst          = 2
	nebulaStrongest      = 3
	nebulaFirstWeak      = 4
	nebulaLastWeak       = 5
	nebulaIdentical      = 6
	nebulaFirstStrongest = 9
	nebulaLastStrongest  = 10
)

// velodyne_decoder's numbers, which are bits.
const (
	velodyneStrongest = 1
	velodyneLast      = 2
)

// returnNumbers has the number of an echo by its marks.
type returnNumbers [marks]uint8

// numbers returns the table's numbers for a return mode, nil where they are the device's marks. Velodyne's devices don't report the first echo.
// Autoware has no number for a single first one, nor for three: these get those of one return, and of two.
func (c ReturnCodes) numbers(mode sample.ReturnMode) (*returnNumbers, error) {
	of := map[ReturnCodes]func(mark int, mode sample.ReturnMode) uint8{
		autowareCodes: autowareNumber, nebulaCodes: nebulaNumber, velodyneCodes: velodyneNumber,
	}[c]
	if c == velodyneCodes && (mode == sample.FirstReturn || mode == sample.TripleReturns) {
		return nil, fmt.Errorf("%w: return_codes: velodyne has no number for the first echo, which returns: %s reports: set return_codes: autoware or nebula",
			sensors.ErrValue, mode)
	}
	if c == autowareCodes && (mode == "" || mode == sample.StrongestReturn) {
		return nil, nil
	}
	var n returnNumbers
	for mark := 1; mark < marks; mark++ {
		n[mark] = of(mark, mode)
	}
	return &n, nil
}

func autowareNumber(mark int, mode sample.ReturnMode) uint8 {
	switch {
	case mode == sample.LastReturn:
		return sample.ReturnLast
	case mode.Points() == 1:
		return sample.ReturnStrongest
	case mark&markOnly != 0:
		return sample.ReturnOnly
	case mark&markStrongest != 0 && mark&markLast != 0:
		return sample.ReturnStrongestLast
	case mark&markStrongest != 0:
		return sample.ReturnStrongestFirst
	case mark&markLast != 0:
		return sample.ReturnWeakLast
	}
	return sample.ReturnWeakFirst
}

// nebulaNumber compares the two echoes of a dual return, as Nebula does: the strongest is then the first of both or the last, whatever lies between.
func nebulaNumber(mark int, mode sample.ReturnMode) uint8 {
	switch {
	case mode == sample.LastReturn:
		return nebulaLast
	case mode == sample.FirstReturn:
		return nebulaFirst
	case mode.Points() == 1:
		return nebulaStrongest
	case mark&markOnly != 0:
		return nebulaIdentical
	case mark&markStrongest != 0 && mark&markLast != 0:
		return nebulaLastStrongest
	case mark&markLast != 0:
		return nebulaLastWeak
	case mark&markStrongest != 0 && (mark&markFirst != 0 || mode == sample.DualReturns):
		return nebulaFirstStrongest
	case mark&markStrongest != 0:
		return nebulaStrongest
	}
	return nebulaFirstWeak
}

// velodyneNumber follows the packets: the last echo is in the block of last returns, also if it is the strongest, and the other one in that of
// the strongest.
func velodyneNumber(mark int, mode sample.ReturnMode) uint8 {
	switch {
	case mode == sample.LastReturn:
		return velodyneLast
	case mode.Points() == 1:
		return velodyneStrongest
	case mark&markOnly != 0:
		return velodyneStrongest | velodyneLast
	case mark&markLast != 0:
		return velodyneLast
	}
	return velodyneStrongest
}

// number gives points their numbers in place of the device's marks. A nil table leaves them as they are.
func (n *returnNumbers) number(points []sample.Point) {
	if n == nil {
		return
	}
	for i := range points {
		points[i].Return = n[points[i].Return%marks]
	}
}
