package viewer

import "image"

// Sizes of the window's furniture, pixels.
const (
	gap          = 6  // between panes, and around them
	titleHeight  = 24 // of a pane's title bar
	headerHeight = 34
	border       = 1

	minSide = 260 // width that the pane beside the enlarged one gets at least
	minRow  = 120 // height that the row of small panes gets at least
	tooLow  = 90  // a row of small panes lower than this is left out
)

// place is a pane to be arranged.
type place struct {
	// natural is the size at which its content is shown unscaled; zero: any.
	natural image.Point
	// cloud says that it shows a cloud, not a camera.
	cloud bool
}

// outer is a pane's size around its natural content.
func (p *place) outer() image.Point {
	return p.natural.Add(image.Pt(2*border, titleHeight+2*border))
}

// arrange gives each pane its rectangle: the selected one is large, beside it
// stands one of the other kind, the rest in rows below. A pane without
// room gets the empty rectangle.
func arrange(area image.Rectangle, panes []place, selected int) []image.Rectangle {
	out := make([]image.Rectangle, len(panes))
	if len(panes) == 0 || area.Empty() {
		return out
	}
	beside, rest := company(panes, selected)
	if beside < 0 || area.Dx() < 2*minSide {
		out[selected] = area
		return out
	}
	height := area.Dy()
	if len(rest) > 0 {
		height = topHeight(area.Dy(), &panes[selected], &panes[beside])
	}
	if area.Dy()-height-gap < tooLow {
		height = area.Dy()
	}
	split := area.Min.X + topWidth(area.Dx(), height, &panes[selected], &panes[beside])
	out[selected] = image.Rect(area.Min.X, area.Min.Y, split, area.Min.Y+height)
	out[beside] = image.Rect(split+gap, area.Min.Y, area.Max.X, area.Min.Y+height)
	if height < area.Dy() {
		below := image.Rect(area.Min.X, area.Min.Y+height+gap, area.Max.X, area.Max.Y)
		for k, r := range grid(below, len(rest)) {
			out[rest[k]] = r
		}
	}
	return out
}

// company chooses the pane beside the selected one, -1 for none, and lists the rest.
func company(panes []place, selected int) (beside int, rest []int) {
	beside = -1
	for k := range panes {
		if k != selected && (beside < 0 || panes[beside].cloud == panes[selected].cloud && panes[k].cloud != panes[selected].cloud) {
			beside = k
		}
	}
	for k := range panes {
		if k != selected && k != beside {
			rest = append(rest, k)
		}
	}
	return beside, rest
}

// topHeight is the upper row's height: enough for the pictures' own size, at
// least half of the window, and with room left for the row below.
func topHeight(height int, selected, beside *place) int {
	want := height * 56 / 100
	for _, p := range []*place{selected, beside} {
		if p.natural.Y > 0 {
			want = max(want, p.outer().Y)
		}
	}
	return min(want, max(height-gap-minRow, height*62/100))
}

// topWidth is the selected pane's width in a row of a height.
func topWidth(width, height int, selected, beside *place) int {
	most := width - gap - minSide
	switch {
	case selected.natural.X > 0 && selected.outer().Y <= height && selected.outer().X <= most:
		return max(selected.outer().X, min(width*45/100, most))
	case selected.natural.X > 0:
		content := height - titleHeight - 2*border
		scaled := content*selected.natural.X/selected.natural.Y + 2*border
		return max(min(scaled, most), width/3)
	case beside.natural.X > 0 && beside.outer().X <= width/2:
		return width - gap - beside.outer().X
	default:
		return min(width*58/100, most)
	}
}

// grid divides an area into n equal cells, in as many columns as leave them
// closest to the shape of a picture.
func grid(area image.Rectangle, n int) []image.Rectangle {
	if n == 0 {
		return nil
	}
	best, bestArea := 1, 0
	for columns := 1; columns <= n; columns++ {
		size := cell(area, columns, n)
		// What a picture of 4 by 3 gets of the cell.
		width := min(size.X, (size.Y-titleHeight)*4/3)
		if width > 0 && width*width > bestArea {
			best, bestArea = columns, width*width
		}
	}
	size := cell(area, best, n)
	out := make([]image.Rectangle, n)
	for k := range out {
		at := area.Min.Add(image.Pt(k%best*(size.X+gap), k/best*(size.Y+gap)))
		out[k] = image.Rectangle{Min: at, Max: at.Add(size)}
		if k%best == best-1 {
			out[k].Max.X = area.Max.X // what the division left over
		}
	}
	return out
}

func cell(area image.Rectangle, columns, n int) image.Point {
	rows := (n + columns - 1) / columns
	return image.Pt((area.Dx()-gap*(columns-1))/columns, (area.Dy()-gap*(rows-1))/rows)
}
