package viewer

import (
	"fmt"
	"image"
	"testing"

	"github.com/stretchr/testify/assert"
)

// rigOf lists the places of cameras of a size, then those of lidars.
func rigOf(cameras int, size image.Point, lidars int) []place {
	var list []place
	for range cameras {
		list = append(list, place{natural: size})
	}
	for range 2 * lidars {
		list = append(list, place{cloud: true})
	}
	return list
}

// area is what a window of a size has left for panes, with two rows of figures.
func area(width, height int) image.Rectangle {
	return image.Rect(gap, headerHeight, width-gap, height-58)
}

func TestPanesNeitherOverlapNorLeaveTheWindow(t *testing.T) {
	vga, hd := image.Pt(640, 480), image.Pt(1280, 720)
	for _, window := range []image.Point{{1600, 1000}, {1280, 840}, {1024, 768}, {640, 480}, {300, 200}, {120, 70}, {3840, 2160}, {900, 1600}} {
		for name, panes := range map[string][]place{
			"demo": rigOf(3, vga, 1), "one camera": rigOf(1, vga, 0), "one lidar": rigOf(0, vga, 1), "cameras": rigOf(4, hd, 0),
			"hd": rigOf(2, hd, 1), "many": rigOf(12, vga, 3), "tall": rigOf(2, image.Pt(200, 1600), 1), "tiny": rigOf(2, image.Pt(8, 8), 1),
		} {
			for selected := range panes {
				t.Run(fmt.Sprint(window, name, selected), func(t *testing.T) {
					within := area(window.X, window.Y)
					placed := arrange(within, panes, selected)
					assert.Len(t, placed, len(panes))
					assert.False(t, placed[selected].Empty(), "the selected pane is missing")
					for k, r := range placed {
						assert.True(t, r.In(within), "%v leaves %v", r, within)
						for l := range k {
							assert.True(t, r.Intersect(placed[l]).Empty(), "panes %d %v and %d %v overlap", k, r, l, placed[l])
						}
					}
				})
			}
		}
	}
}

func TestSelectedCameraIsUnscaledWhereItFits(t *testing.T) {
	vga, hd := image.Pt(640, 480), image.Pt(1280, 720)
	for _, c := range []struct {
		window image.Point
		panes  []place
	}{
		{image.Pt(1600, 1000), rigOf(3, vga, 1)},
		{image.Pt(1280, 840), rigOf(3, vga, 1)},
		{image.Pt(1024, 768), rigOf(3, vga, 1)},
		{image.Pt(1600, 1000), rigOf(3, hd, 1)},
		{image.Pt(660, 600), rigOf(1, vga, 0)},
		{image.Pt(3840, 2160), rigOf(6, image.Pt(1920, 1080), 2)},
	} {
		for selected := range c.panes {
			if c.panes[selected].cloud {
				continue
			}
			p := pane{bounds: arrange(area(c.window.X, c.window.Y), c.panes, selected)[selected]}
			room, natural := p.content().Size(), c.panes[selected].natural
			assert.True(t, room.X >= natural.X && room.Y >= natural.Y, "%v of %v in a window of %v", room, natural, c.window)
		}
	}
}

func TestACloudStandsBesideTheSelectedCamera(t *testing.T) {
	panes := rigOf(3, image.Pt(640, 480), 1)
	placed := arrange(area(1280, 840), panes, 1)
	assert.Equal(t, placed[1].Min.Y, placed[3].Min.Y, "the cloud is in the camera's row")
	assert.Equal(t, placed[1].Max.Y, placed[3].Max.Y)
	placed = arrange(area(1280, 840), panes, 3)
	assert.Equal(t, placed[3].Min.Y, placed[0].Min.Y, "and a camera in the selected cloud's")
	assert.Less(t, placed[3].Max.Y, placed[4].Min.Y, "the others are below")
	assert.Equal(t, placed[4].Size().Y, placed[1].Size().Y)
}

func TestGridFillsItsArea(t *testing.T) {
	within := image.Rect(10, 20, 1010, 420)
	for n := 1; n < 30; n++ {
		cells := grid(within, n)
		assert.Len(t, cells, n)
		covered := image.Rectangle{}
		for _, c := range cells {
			covered = covered.Union(c)
		}
		assert.Equal(t, within.Min, covered.Min)
		assert.Equal(t, within.Dx(), covered.Dx(), "%d cells", n)
		assert.Greater(t, covered.Dy(), within.Dy()-20, "%d cells", n)
	}
	assert.Empty(t, grid(within, 0))
}
