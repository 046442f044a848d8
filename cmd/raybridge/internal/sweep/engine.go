package sweep

import "context"

// Engine has cases run by workers, wherever they are. It doesn't know which cases are done, nor which are tried again: that
// is Run's. One goroutine at a time calls Offer, and one End; they are called at the same time.
type Engine interface {
	// Offer hands a case to a worker. It waits until one has room for it. tries counts the attempts with this one, in the life
	// of the folder. An error is ctx's, or says that there are no workers any longer; the case isn't offered then.
	Offer(ctx context.Context, c *Case, tries int) error
	// End waits for the end of an attempt. Each case that was offered ends once. An error is ctx's.
	End(ctx context.Context) (End, error)
}
