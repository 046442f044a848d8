package picture

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/raybridge/raybridge/scene"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
)

func floats(values ...float64) (data []byte) {
	for _, v := range values {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(v)))
	}
	return data
}

var (
	dark = color.RGBA{0x0c, 0x0e, 0x16, 255}
	inf  = math.Inf(1)
	nan  = math.NaN()
)

const semantic = "sensor.camera.semantic_segmentation"

func TestPixelsBecomeColours(t *testing.T) {
	for name, c := range map[string]struct {
		encoding string
		typeID   string
		data     []byte // of two pixels in a row
		want     [2]color.RGBA
		says     [2]string
	}{
		"rgb8":   {sample.EncodingRGB8, "", []byte{1, 2, 3, 250, 251, 252}, [2]color.RGBA{{1, 2, 3, 255}, {250, 251, 252, 255}}, [2]string{"1 2 3", "250 251 252"}},
		"bgr8":   {sample.EncodingBGR8, "", []byte{1, 2, 3, 4, 5, 6}, [2]color.RGBA{{3, 2, 1, 255}, {6, 5, 4, 255}}, [2]string{"1 2 3", "4 5 6"}},
		"bgra8":  {sample.EncodingBGRA8, "", []byte{1, 2, 3, 0, 4, 5, 6, 9}, [2]color.RGBA{{3, 2, 1, 255}, {6, 5, 4, 255}}, [2]string{"1 2 3 0", "4 5 6 9"}},
		"mono8":  {sample.EncodingMono8, "", []byte{7, 200}, [2]color.RGBA{{7, 7, 7, 255}, {200, 200, 200, 255}}, [2]string{"7", "200"}},
		"mono16": {sample.EncodingMono16, "", []byte{0xff, 7, 0, 200}, [2]color.RGBA{{7, 7, 7, 255}, {200, 200, 200, 255}}, [2]string{"2047", "51200"}},
		"tags":   {sample.EncodingMono8, semantic, []byte{byte(scene.TagRoads), byte(scene.TagCar)}, [2]color.RGBA{{128, 64, 128, 255}, {0, 0, 142, 255}}, [2]string{"roads", "car"}},
		"ids16":  {sample.Encoding16UC1, "", []byte{0, 0, 1, 1}, [2]color.RGBA{{A: 255}, IDColor(257)}, [2]string{"id 0", "id 257"}},
		"ids32":  {sample.Encoding32SC1, "", []byte{0, 0, 0, 0, 1, 1, 0, 0}, [2]color.RGBA{{A: 255}, IDColor(257)}, [2]string{"id 0", "id 257"}},
		"depth":  {sample.Encoding32FC1, "", floats(halfDepth, inf), [2]color.RGBA{DepthRamp.At(0.5), dark}, [2]string{"12.00 m", "+Inf m"}},
		"flow":   {sample.Encoding32FC2, "", floats(inf, 0, 0, 0), [2]color.RGBA{{255, 0, 0, 255}, {255, 255, 255, 255}}, [2]string{"+Inf +0.0000 of the picture", "+0.0000 +0.0000 of the picture"}},
		"down":   {sample.Encoding32FC2, "", floats(0, halfFlow, nan, 0), [2]color.RGBA{{191, 127, 255, 255}, dark}, [2]string{"+0.0000 +0.0100 of the picture", "+NaN +0.0000 of the picture"}},
		"normal": {sample.Encoding32FC3, "", floats(0, -1, 0, nan, nan, nan), [2]color.RGBA{{127, 255, 127, 255}, dark}, [2]string{"+0.00 -1.00 +0.00", "+NaN +NaN +NaN"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := &sample.Image{Width: 1, Height: 2, Encoding: c.encoding, Step: len(c.data)/2 + 3}
			for _, pixel := range [][]byte{c.data[:len(c.data)/2], c.data[len(c.data)/2:]} {
				m.Data = append(append(m.Data, pixel...), 99, 99, 99) // rows have gaps
			}
			kind, err := KindOf(m, c.typeID)
			require.NoError(t, err)
			picture := kind.Paint(nil, m)
			require.Equal(t, image.Pt(1, 2), picture.Rect.Size())
			for k := range 2 {
				assert.Equal(t, c.want[k], picture.RGBAAt(0, k))
				assert.Equal(t, c.says[k], kind.Describe(m.Data[k*m.Step:][:kind.Bytes]))
			}
			assert.Same(t, picture, kind.Paint(picture, m), "the memory is used again")
		})
	}
}

func TestDepthColoursFollowTheDistance(t *testing.T) {
	before := 1000
	for _, z := range []float32{0, 1, 3, 10, 30, 100, 1000} {
		c := depthColor(z)
		brightness := int(c.R) + int(c.G) + int(c.B)
		assert.Less(t, brightness, before, "%v m is darker than what is nearer", z)
		before = brightness
	}
	assert.Equal(t, depthColor(float32(nan)), depthColor(float32(math.Inf(-1))))
	assert.NotEqual(t, depthColor(float32(nan)), depthColor(float32(inf)))
}

func TestIDsHaveTheirOwnColours(t *testing.T) {
	seen := map[color.RGBA]uint32{}
	for id := uint32(1); id < 100; id++ {
		c := IDColor(id)
		assert.Zero(t, seen[c], "ids %d and %d look alike", id, seen[c])
		assert.Greater(t, int(c.R)+int(c.G)+int(c.B), 100, "id %d is too dark", id)
		seen[c] = id
	}
}

func TestBadImagesAreErrors(t *testing.T) {
	for name, m := range map[string]sample.Image{
		"encoding":  {Width: 1, Height: 1, Step: 3, Encoding: "yuv", Data: make([]byte, 3)},
		"short":     {Width: 2, Height: 2, Step: 6, Encoding: sample.EncodingRGB8, Data: make([]byte, 11)},
		"step":      {Width: 2, Height: 2, Step: 5, Encoding: sample.EncodingRGB8, Data: make([]byte, 12)},
		"empty":     {Encoding: sample.EncodingRGB8},
		"huge":      {Width: 1, Height: 1 << 32, Step: 1 << 32, Encoding: sample.EncodingMono8, Data: make([]byte, 4)},
		"tag image": {Width: 2, Height: 2, Step: 1, Encoding: sample.EncodingMono8, Data: make([]byte, 4)},
	} {
		_, err := KindOf(&m, semantic)
		assert.ErrorIs(t, err, errImage, name)
		file, err := (&PNGEncoder{}).Append([]byte("before"), &m, semantic)
		assert.ErrorIs(t, err, errImage, name)
		assert.Equal(t, "before", string(file), "nothing of it is written")
	}
}

func TestPNGFilesAreAsPeopleSeeThem(t *testing.T) {
	var e PNGEncoder
	for _, size := range []image.Point{{2, 1}, {3, 2}, {1, 1}} {
		tags := bytes.Repeat([]byte{byte(scene.TagCar)}, size.X*size.Y)
		file, err := e.Append([]byte("before"), &sample.Image{Width: size.X, Height: size.Y, Step: size.X, Encoding: sample.EncodingMono8, Data: tags}, semantic)
		require.NoError(t, err)
		require.Equal(t, "before", string(file[:6]))
		got, err := png.Decode(bytes.NewReader(file[6:]))
		require.NoError(t, err)
		require.Equal(t, size, got.Bounds().Size())
		assert.Equal(t, color.RGBA{0, 0, 142, 255}, color.RGBAModel.Convert(got.At(size.X-1, size.Y-1)))
	}
}

func TestCompressedPicturesKeepTheirValues(t *testing.T) {
	gray := image.NewGray(image.Rect(0, 0, 3, 2))
	gray.SetGray(2, 1, color.Gray{Y: 17})
	wide := image.NewGray16(image.Rect(0, 0, 3, 2))
	wide.SetGray16(2, 1, color.Gray16{Y: 513})
	colours := image.NewRGBA(image.Rect(0, 0, 3, 2))
	colours.SetRGBA(2, 1, color.RGBA{1, 2, 3, 255})
	for name, c := range map[string]struct {
		picture  image.Image
		encoding string
		last     []byte
	}{
		"tags":   {gray, sample.EncodingMono8, []byte{17}},
		"ids":    {wide, sample.Encoding16UC1, []byte{1, 2}},
		"colour": {colours, sample.EncodingRGB8, []byte{1, 2, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			var data bytes.Buffer
			require.NoError(t, png.Encode(&data, c.picture))
			m, err := Decode(&sample.CompressedImage{Header: sample.Header{Stamp: 5}, Format: "png", Data: data.Bytes()})
			require.NoError(t, err)
			assert.EqualValues(t, simtime.Stamp(5), m.Stamp)
			assert.Equal(t, c.encoding, m.Encoding)
			kind, err := KindOf(m, "")
			require.NoError(t, err)
			assert.Equal(t, c.last, m.Data[m.Step+2*kind.Bytes:][:kind.Bytes])
		})
	}
	var data bytes.Buffer
	require.NoError(t, jpeg.Encode(&data, colours, nil))
	m, err := Decode(&sample.CompressedImage{Format: "jpeg", Data: data.Bytes()})
	require.NoError(t, err)
	assert.Equal(t, sample.EncodingRGB8, m.Encoding)
	_, err = Decode(&sample.CompressedImage{Format: "png", Data: []byte("no picture")})
	assert.ErrorIs(t, err, errImage)
}
