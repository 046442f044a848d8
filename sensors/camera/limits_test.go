package camera

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"

	"github.com/raybridge/raybridge/gpu"
	"github.com/raybridge/raybridge/sensors/sample"
)

// TestTheShadersBlock: its size is the one that std140 gives the shader's, of which docs/rendering.md tells.
func TestTheShadersBlock(t *testing.T) {
	assert.EqualValues(t, 416, unsafe.Sizeof(shadeBlock{}))
}

// TestTheWidestPictures: a picture of the greatest width that OpenGL 4.5 guarantees fits one storage block
// with the number of rows that docs/rendering.md states, and with no more. sensors.Ring refuses taller ones.
func TestTheWidestPictures(t *testing.T) {
	most := gpu.Guaranteed()
	assert.Equal(t, most.MaxTextureSize, maxSize)
	rows := map[string]int{
		sample.EncodingMono8: 8192, sample.Encoding16UC1: 4096, sample.EncodingRGB8: 2730, sample.EncodingBGR8: 2730,
		sample.EncodingBGRA8: 2048, sample.Encoding32SC1: 2048, sample.Encoding32FC1: 2048, sample.Encoding32FC2: 1024, sample.Encoding32FC3: 682,
	}
	for encoding := range pixelBytes {
		o := setup{lens: Lens{Width: maxSize}, form: form{encoding: encoding}}
		assert.LessOrEqual(t, o.step()*rows[encoding], most.MaxStorageBlockBytes, encoding)
		assert.Greater(t, o.step()*(rows[encoding]+1), most.MaxStorageBlockBytes, encoding)
	}
}
