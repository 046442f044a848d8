package apollo

// The frames of cyber_bridge, for tests.
var (
	WriterFrame = writerFrame
	ReaderFrame = readerFrame
	FrameSize   = frameSize
	SplitFrame  = splitFrame
)

// Limited is bridge cyber with another limit of messages, bytes.
func Limited(limit int64) Cyber { return Cyber{limit: limit} }

// LimitedRos is bridge rosapollo with another limit of messages, bytes.
func LimitedRos(limit int64) RosApollo { return RosApollo{limit: limit} }
