package dataset

import (
	"sync"

	"github.com/raybridge/raybridge/sensors/sample"
)

// pool has the memory of pictures and clouds that were written, for others. Any goroutine may use it.
type pool struct{ images, clouds sync.Pool }

// image returns a copy of a picture.
func (p *pool) image(m *sample.Image) *sample.Image {
	dst, _ := p.images.Get().(*sample.Image)
	if dst == nil {
		dst = new(sample.Image)
	}
	sample.Copy(dst, m)
	return dst
}

// cloud returns a copy of a cloud, without its misses and with the strongest point of each firing alone: nuScenes's and KITTI's
// lidars report one return.
func (p *pool) cloud(m *sample.PointCloud) *sample.PointCloud {
	dst, _ := p.clouds.Get().(*sample.PointCloud)
	if dst == nil {
		dst = new(sample.PointCloud)
	}
	if m.Returns.Points() > 1 {
		m.SingleReturn(dst)
	} else {
		sample.Copy(dst, m)
	}
	if !m.Organized {
		return dst
	}
	points := dst.Points[:0]
	for _, x := range dst.Points {
		if x.Return != sample.ReturnUnknown {
			points = append(points, x)
		}
	}
	dst.Points, dst.Organized = points, false
	return dst
}

// release takes back the memory of a part, which nobody may use any more.
func (p *pool) release(from *part) {
	for _, m := range []*sample.Image{from.image, from.instances, from.semantics} {
		if m != nil {
			p.images.Put(m)
		}
	}
	if from.cloud != nil {
		p.clouds.Put(from.cloud)
	}
	*from = part{}
}
