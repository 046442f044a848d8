package cyber

// The frames, for tests.
var (
	WriterFrame = writerFrame
	ReaderFrame = readerFrame
	FrameSize   = frameSize
	SplitFrame  = splitFrame
)

// Limited is the bridge with another limit of messages, bytes.
func Limited(limit int64) Factory { return Factory{limit: limit} }
