package build

import (
	"bytes"
	"image/png"
	"testing"

	"golang.org/x/image/font/gofont/goregular"
)

// Pictures become pixels, words with the font given, the same each time.
func TestRasterize(t *testing.T) {
	const picture = `<svg xmlns="http://www.w3.org/2000/svg" width="60" height="20" viewBox="0 0 60 20"><rect width="60" height="20" fill="#ffffff"/><text x="2" y="15" font-family="Go" font-size="14" fill="#000000">word</text></svg>`
	const blank = `<svg xmlns="http://www.w3.org/2000/svg" width="8" height="4" viewBox="0 0 8 4"><rect width="8" height="4" fill="#ffffff"/></svg>`
	fonts := [][]byte{goregular.TTF}
	drawn, err := Rasterize([]string{picture, blank}, "Go", fonts, 2)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Rasterize([]string{picture, blank}, "Go", fonts, 2)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		w, h int
		inks bool
	}{{120, 40, true}, {16, 8, false}} {
		if !bytes.Equal(drawn[i], again[i]) {
			t.Error("two drawings of a picture differ")
		}
		image, err := png.Decode(bytes.NewReader(drawn[i]))
		if err != nil {
			t.Fatal(err)
		}
		bounds, dark := image.Bounds(), 0
		for y := range bounds.Dy() {
			for x := range bounds.Dx() {
				if r, _, _, _ := image.At(x, y).RGBA(); r < 0x8000 {
					dark++
				}
			}
		}
		if bounds.Dx() != want.w || bounds.Dy() != want.h || dark > 0 != want.inks {
			t.Errorf("picture %d: %v, %d dark pixels", i, bounds, dark)
		}
	}
	if _, err := Rasterize([]string{"no picture"}, "Go", fonts, 2); err == nil {
		t.Error("what is no picture is drawn")
	}
}
