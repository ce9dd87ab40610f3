package build

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"strings"
)

// The icon is the page's tank: a vessel filled by layers, in the page's
// colours. It is described once, on a square of 512, and written as SVG and as
// PNG.

// layer is a rectangle of the icon; its lower corners may be round.
type layer struct {
	x, y, w, h int
	// corner is the radius of the two lower corners.
	corner int
	colour color.NRGBA
}

const iconSide = 512

var (
	paper = color.NRGBA{0xfb, 0xfa, 0xf6, 0xff}
	ink   = color.NRGBA{0x1d, 0x1c, 0x1a, 0xff}
)

// iconLayers lie on each other in order. All of the vessel is inside the circle
// of 80 % that every mask leaves.
var iconLayers = []layer{
	{x: 0, y: 0, w: iconSide, h: iconSide, colour: paper},
	{x: 150, y: 92, w: 212, h: 328, corner: 52, colour: ink},                                     // the wall
	{x: 168, y: 92, w: 176, h: 310, corner: 36, colour: paper},                                   // the inside
	{x: 168, y: 358, w: 176, h: 44, corner: 36, colour: color.NRGBA{0x8b, 0x88, 0x80, 0xff}},     // runtime
	{x: 168, y: 326, w: 176, h: 32, colour: color.NRGBA{0x2f, 0x6d, 0xb3, 0xff}},                 // weights
	{x: 168, y: 302, w: 176, h: 24, colour: color.NRGBA{0x7d, 0xb4, 0xe6, 0xff}},                 // gradients
	{x: 168, y: 272, w: 176, h: 30, colour: color.NRGBA{0x95, 0x67, 0xb5, 0xff}},                 // optimizer
	{x: 168, y: 248, w: 176, h: 24, colour: color.NRGBA{0xe0, 0xa1, 0x00, 0xff}},                 // batch
	{x: 168, y: 156, w: 176, h: 92, colour: color.NRGBA{0xd4, 0x56, 0x2a, 0xff}},                 // activations
	{x: 168, y: 120, w: 40, h: 10, colour: alarm}, {x: 236, y: 120, w: 40, h: 10, colour: alarm}, // the limit,
	{x: 304, y: 120, w: 40, h: 10, colour: alarm}, // dashed
}

var alarm = color.NRGBA{0xb3, 0x26, 0x1e, 0xff}

// covers reports whether a point lies in the layer.
func (l layer) covers(x, y float64) bool {
	x, y = x-float64(l.x), y-float64(l.y)
	w, h, r := float64(l.w), float64(l.h), float64(l.corner)
	if x < 0 || y < 0 || x >= w || y >= h {
		return false
	}
	dx, dy := max(r-x, x-(w-r)), y-(h-r)
	return dx <= 0 || dy <= 0 || dx*dx+dy*dy <= r*r
}

func (l layer) svg() string {
	fill := fmt.Sprintf("#%02x%02x%02x", l.colour.R, l.colour.G, l.colour.B)
	if l.corner == 0 {
		return fmt.Sprintf(`<path fill="%s" d="M%d %dh%dv%dh%dz"/>`, fill, l.x, l.y, l.w, l.h, -l.w)
	}
	side, r := l.h-l.corner, l.corner
	return fmt.Sprintf(`<path fill="%s" d="M%d %dh%dv%da%d %d 0 0 1 %d %dh%da%d %d 0 0 1 %d %dz"/>`,
		fill, l.x, l.y, l.w, side, r, r, -r, r, 2*r-l.w, r, r, -r, -r)
}

func iconSVG() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d">`, iconSide, iconSide)
	for _, l := range iconLayers {
		b.WriteString(l.svg())
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

// iconPNG draws the icon side pixels wide. Each pixel is the mean of 4 x 4 samples.
func iconPNG(side int) ([]byte, error) {
	const samples = 4
	img := image.NewNRGBA(image.Rect(0, 0, side, side))
	scale := float64(iconSide) / float64(side*samples)
	for y := range side {
		for x := range side {
			var r, g, b int
			for sy := range samples {
				for sx := range samples {
					c := iconAt((float64(x*samples+sx)+.5)*scale, (float64(y*samples+sy)+.5)*scale)
					r, g, b = r+int(c.R), g+int(c.G), b+int(c.B)
				}
			}
			const n = samples * samples
			img.SetNRGBA(x, y, color.NRGBA{uint8(r / n), uint8(g / n), uint8(b / n), 0xff})
		}
	}
	var out bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	err := encoder.Encode(&out, img)
	return out.Bytes(), err
}

func iconAt(x, y float64) color.NRGBA {
	for i := len(iconLayers) - 1; i > 0; i-- {
		if iconLayers[i].covers(x, y) {
			return iconLayers[i].colour
		}
	}
	return iconLayers[0].colour
}
