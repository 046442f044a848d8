package ros2lgsvl

// What the frame reader's tests look at.
var (
	FrameSize    = frameSize
	SplitPublish = splitPublish
)
