package ros2lgsvl

// What the frame reader's tests look at.
var (
	FrameSize    = frameSize
	SplitPublish = splitPublish
)

// Limited is the bridge with another limit of messages, bytes.
func Limited(limit int64) Factory { return Factory{limit: limit} }
