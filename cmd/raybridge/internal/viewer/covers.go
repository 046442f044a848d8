package viewer

import (
	"image"
	"time"
)

// toastLife is how long a short message stays.
const toastLife = 3 * time.Second

// toast is a short message at the lower edge; its text is "" where there is none.
type toast struct {
	text string
	ends time.Time
}

func (t *toast) say(text string, now time.Time) { t.text, t.ends = text, now.Add(toastLife) }

// update takes messages about saved pictures, removes an old one and reports
// whether the text has changed.
func (t *toast) update(now time.Time, saved <-chan string) bool {
	select {
	case text := <-saved:
		t.say(text, now)
		return true
	default:
	}
	if t.text != "" && now.After(t.ends) {
		t.text = ""
		return true
	}
	return false
}

// say shows a short message.
func (v *Viewer) say(text string) {
	v.toast.say(text, v.now())
	v.changed = true
}

// paintCovers draws what lies over the panes.
func (v *Viewer) paintCovers() {
	switch {
	case v.ending:
		v.paintBanner("finishing what is queued; the window closes when recordings are complete")
	case v.toast.text != "":
		v.paintBanner(v.toast.text)
	}
	if v.help {
		v.paintHelp()
	}
}

// paintBanner writes a message over the lower edge of the panes.
func (v *Viewer) paintBanner(text string) {
	face := v.fonts.regular
	text = face.fit(text, v.canvas.Rect.Dx()-6*textInset)
	size := image.Pt(face.width(text)+4*textInset, face.height+2*textInset)
	box := centred(size, v.canvas.Rect)
	box = box.Add(image.Pt(0, v.canvas.Rect.Max.Y-v.footerHeight()-4*gap-box.Max.Y))
	veil(v.canvas, box, colorTitle, 235)
	outline(v.canvas, box, colorAccent)
	face.draw(v.canvas, box.Min.Add(image.Pt(2*textInset, textInset)), text, colorText)
}

// paintHelp lists the keys.
func (v *Viewer) paintHelp() {
	lines := v.helpLines()
	const keyWidth, lineHeight, inset = 170, 22, 20
	width := 0
	for _, l := range lines {
		width = max(width, keyWidth+v.fonts.regular.width(l.does))
	}
	veil(v.canvas, image.Rect(0, headerHeight-gap, v.canvas.Rect.Dx(), v.canvas.Rect.Dy()-v.footerHeight()+gap), colorBackground, 150)
	box := centred(image.Pt(width+2*inset, (len(lines)+1)*lineHeight+2*inset), v.canvas.Rect)
	veil(v.canvas, box, colorPanel, 245)
	outline(v.canvas, box, colorBorder)
	at := box.Min.Add(image.Pt(inset, inset))
	v.fonts.bold.draw(v.canvas, at, "Keys and mouse", colorText)
	for _, l := range lines {
		at.Y += lineHeight
		v.fonts.regular.draw(v.canvas, at, l.keys, colorAccent)
		v.fonts.regular.draw(v.canvas, at.Add(image.Pt(keyWidth, 0)), l.does, colorText)
	}
}
