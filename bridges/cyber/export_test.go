package cyber

// The frames, for tests.
var (
	WriterFrame = writerFrame
	ReaderFrame = readerFrame
	FrameSize   = frameSize
	SplitFrame  = splitFrame
)
