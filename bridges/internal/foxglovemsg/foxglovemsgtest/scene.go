package foxglovemsgtest

import (
	"math"
	"strconv"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/raybridge/raybridge/sensors/sample"
	"github.com/raybridge/raybridge/spatial"
)

// paint returns a colour of any opacity.
func paint(r, g, b float64) func(opacity float64) object {
	return func(opacity float64) object { return object{"r": r, "g": g, "b": b, "a": opacity} }
}

// What is drawn has these colours.
var (
	red    = paint(0.95, 0.2, 0.2)
	amber  = paint(1, 0.7, 0.1)
	yellow = paint(1, 0.85, 0.1)
	green  = paint(0.2, 0.85, 0.3)
	blue   = paint(0.25, 0.55, 1)
	grey   = paint(0.6, 0.6, 0.6)
)

// scene first removes what was there before; its boxes have one opacity.
func scene(stampNs int64, opacity float64, entities []any) object {
	for _, e := range entities {
		cube := e.(object)["cubes"].([]any)[0].(object)
		cube["color"].(object)["a"] = opacity
	}
	return object{"deletions": []any{object{"timestamp": stamp(stampNs), "type": "ALL", "id": ""}}, "entities": entities}
}

// entity is a box, turned, with a text 0.3 m above its top, whose z axis shows along x.
func entity(h *sample.Header, id string, at spatial.Pose, size mgl64.Vec3, label string, color func(float64) object) object {
	above := spatial.Identity()
	above.Position = at.Position.Add(mgl64.Vec3{size[2]/2 + 0.3, 0, 0})
	return headed(h, object{
		"id": id, "lifetime": object{"seconds": "0", "nanos": 0.0}, "frame_locked": false, "metadata": []any{},
		"arrows": []any{}, "spheres": []any{}, "cylinders": []any{}, "lines": []any{}, "triangles": []any{}, "models": []any{},
		"cubes": []any{object{"pose": pose(at), "size": vector(size), "color": color(1)}},
		"texts": []any{object{"pose": pose(above), "billboard": true, "font_size": 14.0, "scale_invariant": true, "color": legible(color(1)), "text": label}},
	})
}

// legible is a colour between black, the given one and white, by light, whose contrast with black
// is that with white; to three decimals.
func legible(of object) object {
	light := func(v float64) float64 { // sRGB's, decoded
		if v <= 0.04045 {
			return v / 12.92
		}
		return math.Pow((v+0.055)/1.055, 2.4)
	}
	c := [3]float64{light(of["r"].(float64)), light(of["g"].(float64)), light(of["b"].(float64))}
	mixed := func(share float64) (out [3]float64, luminance float64) { // 0 is black, 1 the colour, 2 white
		for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
			out[i] = c[i]*min(share, 1) + (1-c[i])*max(share-1, 0)
			luminance += weight * out[i]
		}
		return out, luminance
	}
	least, most := 0.0, 2.0
	for range 60 {
		middle := (least + most) / 2
		if _, l := mixed(middle); l < 0.179 {
			least = middle
		} else {
			most = middle
		}
	}
	found, _ := mixed(least)
	for i, v := range found {
		if v <= 0.0031308 {
			v *= 12.92
		} else {
			v = 1.055*math.Pow(v, 1/2.4) - 0.055
		}
		found[i] = math.Round(v*1000) / 1000
	}
	return object{"r": found[0], "g": found[1], "b": found[2], "a": 1.0}
}

// outline is a rectangle on a picture, clockwise from its top left.
func outline(stampNs int64, b *sample.Box2D, color object) any {
	x, y, w, h := float64(b.CenterX), float64(b.CenterY), float64(b.Width)/2, float64(b.Height)/2
	return object{
		"timestamp": stamp(stampNs), "type": "LINE_LOOP", "points": []any{point(x-w, y-h), point(x+w, y-h), point(x+w, y+h), point(x-w, y+h)},
		"outline_color": color, "outline_colors": []any{}, "fill_color": nil, "thickness": 2.0, "metadata": []any{pair("id", strconv.Itoa(int(b.ID)))},
	}
}

// caption is a rectangle's text, white on a dark veil.
func caption(stampNs int64, b *sample.Box2D) any {
	return object{
		"timestamp": stamp(stampNs), "position": point(float64(b.CenterX)-float64(b.Width)/2, float64(b.CenterY)-float64(b.Height)/2),
		"text": text(b.Label, b.TypeID), "font_size": 12.0, "text_color": paint(1, 1, 1)(1), "background_color": paint(0, 0, 0)(0.6), "metadata": []any{},
	}
}
