package still

import (
	"strings"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
)

// Fonts are those with which pictures are measured, and drawn in the end.
var Fonts = [][]byte{goregular.TTF, gobold.TTF}

// Family is the fonts' name.
const Family = "Go"

var faces = func() (faces [2]font.Face) {
	for i, data := range Fonts {
		parsed, err := opentype.Parse(data)
		if err == nil {
			faces[i], err = opentype.NewFace(parsed, &opentype.FaceOptions{Size: 100, DPI: 72})
		}
		if err != nil {
			panic(err) // data of the module golang.org/x/image
		}
	}
	return faces
}()

// run is words of one look.
type run struct {
	text   string
	bold   bool
	colour string
}

// spare is how much wider words are in the fonts of readers who have not ours:
// DejaVu Sans, the widest of those that usually stand in.
const spare = 1.13

// width in pixels, with room for other fonts.
func (r run) width(size float64) float64 {
	face := faces[0]
	if r.bold {
		face = faces[1]
	}
	return float64(font.MeasureString(face, r.text)) / float64(fixed.I(1)) * size / 100 * spare
}

func width(runs []run, size float64) float64 {
	sum := 0.0
	for _, r := range runs {
		sum += r.width(size)
	}
	return sum
}

// lines breaks runs at spaces so that each line fits.
func lines(runs []run, size, most float64) [][]run {
	var all [][]run
	var line []run
	at := 0.0
	for _, r := range runs {
		for _, word := range strings.SplitAfter(r.text, " ") {
			piece := run{word, r.bold, r.colour}
			w := run{strings.TrimRight(word, " "), r.bold, r.colour}.width(size)
			if at+w > most && len(line) > 0 {
				all, line, at = append(all, line), nil, 0
			}
			if n := len(line); n > 0 && line[n-1].bold == r.bold && line[n-1].colour == r.colour {
				line[n-1].text += word
			} else if word != "" {
				line = append(line, piece)
			}
			at += piece.width(size)
		}
	}
	if len(line) > 0 {
		all = append(all, line)
	}
	return all
}
