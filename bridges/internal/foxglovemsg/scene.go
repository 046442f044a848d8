package foxglovemsg

import (
	"math"
	"strconv"

	"github.com/go-gl/mathgl/mgl64"

	pb "github.com/raybridge/raybridge/bridges/internal/foxglovemsg/foxglove"
	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/simtime"
	"github.com/raybridge/raybridge/spatial"
	"github.com/raybridge/raybridge/world"
)

// Sizes of what is drawn.
const (
	labelPixels   = 14  // the height of a text in a scene, pixels of the screen
	labelGap      = 0.3 // between a box and its text, metres
	outlinePixels = 2   // the thickness of a rectangle on a picture
	captionPixels = 12  // the height of a text on a picture, pixels of the picture
)

// rgba is a colour.
type rgba struct{ r, g, b, a float64 }

func setColor(p **pb.Color, c rgba) {
	dst := at(p)
	dst.R, dst.G, dst.B, dst.A = c.r, c.g, c.b, c.a
}

// labelLuminance is the relative luminance (WCAG 2.1) at which a colour has the same contrast,
// 4.6, with black as with white. Viewers have dark grounds and light ones.
const labelLuminance = 0.179

// legible returns the colour of a text that stands for this one: of its hue, and readable on
// any ground.
func (c rgba) legible() rgba {
	r, g, b := linear(c.r), linear(c.g), linear(c.b)
	l := luminance(r, g, b)
	of := func(v float64) float64 {
		if l > labelLuminance {
			return encoded(v * labelLuminance / l)
		}
		return encoded(1 - (1-v)*(1-labelLuminance)/(1-l)) // nearer to white
	}
	const decimals = 1000
	round := func(v float64) float64 { return math.Round(v*decimals) / decimals }
	return rgba{round(of(r)), round(of(g)), round(of(b)), 1}
}

// luminance is that of linear components (WCAG 2.1, "relative luminance").
func luminance(r, g, b float64) float64 { return 0.2126*r + 0.7152*g + 0.0722*b }

// linear undoes sRGB's encoding (IEC 61966-2-1), and encoded does it.
func linear(v float64) float64 {
	if v <= 0.04045 {
		return v / 12.92
	}
	return math.Pow((v+0.055)/1.055, 2.4)
}

func encoded(v float64) float64 {
	if v <= 0.0031308 {
		return v * 12.92
	}
	return 1.055*math.Pow(v, 1/2.4) - 0.055
}

// with returns the colour with another opacity.
func (c rgba) with(a float64) rgba { return rgba{c.r, c.g, c.b, a} }

var (
	white     = rgba{1, 1, 1, 1}
	blackVeil = rgba{0, 0, 0, 0.6}
	grey      = rgba{0.6, 0.6, 0.6, 1}
	amber     = rgba{1, 0.7, 0.1, 1}
	red       = rgba{0.95, 0.2, 0.2, 1}
	yellow    = rgba{1, 0.85, 0.1, 1}
	green     = rgba{0.2, 0.85, 0.3, 1}
	blue      = rgba{0.25, 0.55, 1, 1}
)

// labels has the colour of the text at each thing of a colour.
var labels = func() map[rgba]rgba {
	m := map[rgba]rgba{}
	for _, c := range []rgba{grey, amber, red, yellow, green, blue} {
		m[c] = c.legible()
	}
	return m
}()

// colorOfTag tells apart, by CARLA's semantic tags, those who walk (12), those who ride
// (13) and vehicles (14 to 19) from everything else.
func colorOfTag(tag uint8) rgba {
	switch {
	case tag == 12:
		return red
	case tag == 13:
		return amber
	case tag >= 14 && tag <= 19:
		return blue
	default:
		return grey
	}
}

// colorOfSignal is what the light shows.
func colorOfSignal(s world.SignalState) rgba {
	switch s {
	case world.SignalRed:
		return red
	case world.SignalYellow:
		return yellow
	case world.SignalGreen:
		return green
	default:
		return grey
	}
}

type sceneUpdate = generated[pb.SceneUpdate, *pb.SceneUpdate]

// begin makes the update one that first removes all older entities of its topic, and has
// n entities to be set.
func beginScene(dst *sceneUpdate, stamp simtime.Stamp, n int) []*pb.SceneEntity {
	m := dst.message()
	m.Deletions = resized(m.Deletions, 1)
	setTime(&m.Deletions[0].Timestamp, stamp)
	m.Deletions[0].Type = pb.SceneEntityDeletion_ALL
	m.Entities = resized(m.Entities, n)
	return m.Entities
}

// object is what a box and a text stand for.
type object struct {
	header  *sample.Header
	id      uint32
	pose    spatial.Pose
	size    mgl64.Vec3
	label   string
	typeID  string
	color   rgba
	opacity float64
	// occlusion is the share that is hidden, 0..1; nil where nobody knows.
	occlusion *float32
}

// set makes an entity the object's.
func (o *object) set(e *pb.SceneEntity) {
	setTime(&e.Timestamp, o.header.Stamp)
	e.FrameId = o.header.FrameID
	setID(&e.Id, o.id)
	at(&e.Lifetime) // zero: until the next update
	e.Metadata = e.Metadata[:0]
	if o.typeID != "" {
		*addPair(&e.Metadata, keyType) = o.typeID
	}
	if o.occlusion != nil {
		setShare(addPair(&e.Metadata, keyOcclusion), *o.occlusion)
	}
	e.Cubes = resized(e.Cubes, 1)
	setPose(&e.Cubes[0].Pose, o.pose)
	setVector(&e.Cubes[0].Size, o.size)
	setColor(&e.Cubes[0].Color, o.color.with(o.opacity))
	e.Texts = resized(e.Texts, 1)
	text, above := e.Texts[0], o.pose
	above.Position = above.Apply(mgl64.Vec3{0, 0, o.size[2]/2 + labelGap})
	above.Orientation = mgl64.QuatIdent()
	setPose(&text.Pose, above)
	text.Billboard, text.FontSize, text.ScaleInvariant = true, labelPixels, true
	setColor(&text.Color, labels[o.color])
	text.Text = o.label
	if text.Text == "" {
		text.Text = o.typeID
	}
}

// Keys of what Foxglove's schemas have no field for, in their metadata. Shares are decimal numbers
// from 0 to 1.
const (
	keyType       = "type"
	keyID         = "id"
	keyOcclusion  = "occlusion"
	keyTruncation = "truncation"
)

// addPair adds a pair of a key to a list and returns where its value goes.
func addPair(list *[]*pb.KeyValuePair, key string) *string {
	*list = resized(*list, len(*list)+1)
	pair := (*list)[len(*list)-1]
	pair.Key = key
	return &pair.Value
}

// setID writes a number as text, unless it stands there already.
func setID(dst *string, id uint32) {
	var digits [10]byte
	setBytes(dst, strconv.AppendUint(digits[:0], uint64(id), 10))
}

// setShare writes a share as text, unless it stands there already.
func setShare(dst *string, share float32) {
	var digits [24]byte
	setBytes(dst, strconv.AppendFloat(digits[:0], float64(share), 'g', -1, 32))
}

func setBytes(dst *string, text []byte) {
	if *dst != string(text) {
		*dst = string(text)
	}
}

// setDetections makes dst the boxes, of the opacity of glass, with their labels.
func setDetections(dst *sceneUpdate, src *sample.Detections3D) error {
	for i, e := range beginScene(dst, src.Stamp, len(src.Boxes)) {
		box := &src.Boxes[i]
		o := object{
			header: &src.Header, id: box.ID, pose: box.Pose, size: box.Size, label: box.Label, typeID: box.TypeID,
			color: colorOfTag(box.Tag), opacity: 0.4, occlusion: &box.Occlusion,
		}
		o.set(e)
	}
	return nil
}

// setSignals makes dst the traffic lights in the colours that they show.
func setSignals(dst *sceneUpdate, src *sample.Signals) error {
	for i, e := range beginScene(dst, src.Stamp, len(src.Signals)) {
		light := &src.Signals[i]
		o := object{
			header: &src.Header, id: light.ID, pose: light.Pose, size: light.Size, label: light.Label,
			color: colorOfSignal(light.State), opacity: 0.8,
		}
		o.set(e)
	}
	return nil
}

// setAnnotations makes dst the rectangles around the boxes, with their labels.
func setAnnotations(dst *generated[pb.ImageAnnotations, *pb.ImageAnnotations], src *sample.Detections2D) error {
	m := dst.message()
	setTime(&m.Timestamp, src.Stamp)
	m.Points, m.Texts = resized(m.Points, len(src.Boxes)), resized(m.Texts, len(src.Boxes))
	for i := range src.Boxes {
		box := &src.Boxes[i]
		x, y := float64(box.CenterX), float64(box.CenterY)
		w, h := float64(box.Width)/2, float64(box.Height)/2
		color := colorOfTag(box.Tag)
		outline := m.Points[i]
		setTime(&outline.Timestamp, src.Stamp)
		outline.Type, outline.Thickness = pb.PointsAnnotation_LINE_LOOP, outlinePixels
		outline.Points = resized(outline.Points, 4)
		for k, corner := range [4][2]float64{{x - w, y - h}, {x + w, y - h}, {x + w, y + h}, {x - w, y + h}} {
			outline.Points[k].X, outline.Points[k].Y = corner[0], corner[1]
		}
		setColor(&outline.OutlineColor, color)
		outline.Metadata = outline.Metadata[:0]
		setID(addPair(&outline.Metadata, keyID), box.ID)
		setShare(addPair(&outline.Metadata, keyOcclusion), box.Occlusion)
		setShare(addPair(&outline.Metadata, keyTruncation), box.Truncation)
		text := m.Texts[i]
		setTime(&text.Timestamp, src.Stamp)
		setPoint(&text.Position, x-w, y-h)
		text.FontSize = captionPixels
		setColor(&text.TextColor, white)
		setColor(&text.BackgroundColor, blackVeil)
		if text.Text = box.Label; box.Label == "" {
			text.Text = box.TypeID
		}
	}
	return nil
}

func setPoint(p **pb.Point2, x, y float64) {
	dst := at(p)
	dst.X, dst.Y = x, y
}
