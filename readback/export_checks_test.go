//go:build raybridge_checks || race

package readback

// HoldStep is a statement of a release, or of the end of a slot.
type HoldStep = holdStep

// A release has the statements from 0 to DropSteps; that of a slot's end has its own.
const (
	DropSteps    = dropSteps
	GiveUpLoaded = giveUpLoaded
)

// HoldAt has f called at each statement of every release; nil ends it.
func HoldAt(f func(at HoldStep)) { held = f }
