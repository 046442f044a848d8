package carla

import (
	"github.com/raybridge/raybridge/bridges"
	"github.com/raybridge/raybridge/sensors/sample"
)

// Parts of the package that its tests look at from outside.
var (
	AppendImage         = appendImage
	AppendLidar         = func(c *CloudEncoder, dst []byte, m *sample.PointCloud) []byte { return c.appendLidar(dst, m) }
	AppendSemanticLidar = func(c *CloudEncoder, dst []byte, m *sample.PointCloud) []byte { return c.appendSemanticLidar(dst, m) }
	AppendSnapshot      = appendSnapshot
	TypeIDs             = typeIDs
)

// CloudEncoder is cloudEncoder.
type CloudEncoder = cloudEncoder

// Opened is a stream that clients can ask for.
type Opened struct {
	Topic, Address string
	ID             uint32
}

// OnOpened has f called for each stream of an instance when it is there, before Connect
// or AddPublisher return.
func OnOpened(i bridges.Instance, f func(Opened)) {
	i.(*instance).opened = func(s *stream, address string) {
		f(Opened{s.Info.Name, address, s.id})
	}
}

// Limited is the bridge with another limit of frames, bytes.
func Limited(limit int64) Factory { return Factory{limit: limit} }
