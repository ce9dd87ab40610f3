package figure

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"vrametre/calc"
	"vrametre/content"
	"vrametre/web/view"
)

// subject answers a state's question with everything that figures draw.
func subject(t *testing.T, s view.State, lang content.Lang) *Subject {
	t.Helper()
	scene, err := view.Compute(s)
	if err != nil {
		t.Fatal(err)
	}
	out := Of(view.NewFigures(scene, lang))
	if out.Curve, err = Trace(out.Request, *scene.Now.MaxBatch); err != nil {
		t.Fatal(err)
	}
	return out
}

var states = []view.State{
	view.Default(),
	view.Default().With(view.ScrubBatch, 1).With(view.ScrubSide, 32).WithOptimizer("sgd").WithGPU("a100-80"),
	view.Default().With(view.ScrubBatch, 1024).With(view.ScrubSide, 512).WithOptimizer("sgd-momentum"),
	view.Default().With(view.ScrubBatch, 257).WithGPU("rtx-4060"),
}

func parse(t *testing.T, source string) *html.Node {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(source))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func readable(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data + " ")
		}
	}
	return b.String()
}

var noNumber = regexp.MustCompile(`NaN|\bInf\b`)

var looksLikeKey = regexp.MustCompile(`\b(figure|kind|part|place|unit|slot|optimizer|settings|where)\.[a-z]`)

// Whatever the state, a figure says every word in its language, keeps to a
// strict content security policy, and names nothing twice.
func TestFiguresAreWhole(t *testing.T) {
	for _, lang := range content.Langs {
		for _, state := range states {
			s := subject(t, state, lang)
			ids := map[string]string{}
			for _, name := range Names {
				source := HTML(name, s, "caption")
				for n := range parse(t, source).Descendants() {
					for _, a := range n.Attr {
						switch {
						case a.Key == "style" || strings.HasPrefix(a.Key, "on"):
							t.Errorf("%s: <%s %s>", name, n.Data, a.Key)
						case noNumber.MatchString(a.Val):
							t.Errorf("%s: <%s %s=%q>", name, n.Data, a.Key, a.Val)
						case a.Key == "id":
							if other, twice := ids[a.Val]; twice {
								t.Errorf("%s and %s: id %q twice", other, name, a.Val)
							}
							ids[a.Val] = name
						}
						if a.Key == "aria-label" || a.Key == "aria-valuetext" || a.Key == "data-tip" {
							if a.Val == "" || strings.Contains(a.Val, "{") || looksLikeKey.MatchString(a.Val) {
								t.Errorf("%s %s: %s=%q", lang, name, a.Key, a.Val)
							}
						}
					}
					if n.Type == html.TextNode && (strings.Contains(n.Data, "{") || looksLikeKey.MatchString(n.Data)) {
						t.Errorf("%s %s: text %q", lang, name, n.Data)
					}
				}
			}
			// What paints and clips refer to is there.
			patterns := Patterns()
			all := patterns
			for _, name := range Names {
				all += HTML(name, s, "")
			}
			for _, m := range regexp.MustCompile(`url\(#([^)]+)\)`).FindAllStringSubmatch(all, -1) {
				if !strings.Contains(all, `id="`+m[1]+`"`) {
					t.Errorf("nothing is called %q", m[1])
				}
			}
		}
	}
}

// Every drawing has words, and every figure a table with as many cells in each row.
func TestTwins(t *testing.T) {
	s := subject(t, view.Default(), content.French)
	for _, name := range Names {
		doc := parse(t, HTML(name, s, ""))
		tables, pictures := 0, 0
		for n := range doc.Descendants() {
			switch {
			case n.Data == "table":
				tables++
				width := 0
				for row := range n.Descendants() {
					if row.Data != "tr" {
						continue
					}
					cells := 0
					for c := row.FirstChild; c != nil; c = c.NextSibling {
						cells++
					}
					if width == 0 {
						width = cells
					}
					if cells != width {
						t.Errorf("%s: a row of %d cells under a head of %d", name, cells, width)
					}
				}
			case n.Data == "svg":
				if attr(n, "aria-hidden") != "true" && attr(n, "role") == "img" {
					pictures++
					if len(attr(n, "aria-label")) < 20 {
						t.Errorf("%s: picture labelled %q", name, attr(n, "aria-label"))
					}
				}
			}
		}
		if tables != 1 {
			t.Errorf("%s: %d tables", name, tables)
		}
		if pictures == 0 && !slices.Contains([]string{Slots, Maps, Blocks, Layers}, name) { // lists of labelled pieces
			t.Errorf("%s: no picture has words", name)
		}
	}
}

// Drawing the parts alone gives what the whole figure holds: waking changes nothing.
func TestPartsAreTheFigure(t *testing.T) {
	s := subject(t, view.Default(), content.English)
	for _, name := range Names {
		whole := HTML(name, s, "")
		parts := Parts(name, s, Always|Late)
		if len(parts) != len(designs[name].parts) {
			t.Errorf("%s: %d parts of %d", name, len(parts), len(designs[name].parts))
		}
		for _, part := range parts {
			if !strings.Contains(whole, part.HTML()) {
				t.Errorf("%s: part %s is not in the figure", name, part.Name)
			}
		}
	}
	if looked := Parts(Timeline, s, Looked); len(looked) != 3 {
		t.Errorf("the cursor moves %d parts", len(looked))
	}
}

// The stack of kinds is the engine's live bytes at every operation, for
// networks whose operations are simple, and never more.
func TestStackIsTheTimeline(t *testing.T) {
	for _, preset := range []string{"lesson", "resnet18", "vit_b_16", "densenet121"} {
		r, err := calc.Estimate(calc.Request{Model: calc.Model{Preset: preset}, Batch: 2, Want: []string{calc.WantTimeline, calc.WantLayers}})
		if err != nil {
			t.Fatalf("%s: %v", preset, err)
		}
		list, places := walkColumns(r.Timeline)
		layers := stack(&r, list)
		if len(layers) < 4 {
			t.Fatalf("%s: %d kinds", preset, len(layers))
		}
		covered, sum := 0, 0
		var highest int64
		for i, c := range list {
			if c.first != covered || c.highest < c.first || c.highest > c.last {
				t.Fatalf("%s: column %d is %+v after operation %d", preset, i, c, covered)
			}
			covered = c.last + 1
			sum += places.width[i]
			below := int64(0)
			for _, l := range layers {
				if l.top[i] < below {
					t.Errorf("%s: %s goes down in column %d", preset, l.kind, i)
				}
				below = l.top[i]
			}
			if below != r.Timeline[c.highest].Live {
				t.Errorf("%s: column %d stacks to %d of %d", preset, i, below, r.Timeline[c.highest].Live)
			}
			highest = max(highest, below)
		}
		if covered != len(r.Timeline) || sum != places.total || len(list) > mostColumns+3 {
			t.Errorf("%s: %d of %d operations in %d columns, %d of %d wide", preset, covered, len(r.Timeline), len(list), sum, places.total)
		}
		if highest != r.Peak.Live {
			t.Errorf("%s: the highest column is %d, the peak %d", preset, highest, r.Peak.Live)
		}
	}
}

// The pieces of the kept maps sum to what autograd keeps.
func TestMapsSum(t *testing.T) {
	for _, state := range states {
		s := subject(t, state, content.English)
		var sum int64
		for _, k := range s.keptMaps() {
			if k.sample {
				sum += k.bytes * state.Batch
			} else {
				sum += k.bytes
			}
		}
		if sum != s.Now.SavedForBackward {
			t.Errorf("%+v: maps of %d bytes, %d are kept", state, sum, s.Now.SavedForBackward)
		}
	}
}

// Areas are bytes, and channels keep the proportions of their maps.
func TestPlates(t *testing.T) {
	s := subject(t, view.Default(), content.English)
	for _, k := range s.keptMaps() {
		p := plateOf(k)
		channels := 1.
		if len(k.shape) == 3 {
			channels = float64(k.shape[0])
		}
		area := p.width * p.height * channels / (p.columns * p.rows)
		if ratio := area / float64(k.bytes); ratio < .999 || ratio > 1.001 {
			t.Errorf("%s %v: an area of %v for %d bytes", k.By, k.shape, area, k.bytes)
		}
		if cell := (p.width / p.columns) / (p.height / p.rows); len(k.shape) == 3 && (cell < .999 || cell > 1.001) {
			t.Errorf("%s: a channel of %v is drawn %v wide for 1 high", k.By, k.shape, cell)
		}
	}
}

func TestMapAccounts(t *testing.T) {
	s := subject(t, view.Default(), content.English)
	plain := strings.NewReplacer("\u00a0", " ", "\u202f", " ")
	for i, want := range []string{
		"ReLU 1, output: 32 × 128 × 128 × float32 (4 B) = 2,097,152 bytes. ReLU reads its output again to know where it is zero.",
		"MaxPool 1, indices: 32 × 64 × 64 × int64 (8 B) = 1,048,576 bytes. The place of each maximum, to send the gradient back there.",
		"Conv 2, input: 32 × 64 × 64 × float32 (4 B) = 524,288 bytes. The gradient of a convolution’s weights is computed from its input.",
	} {
		if got := plain.Replace(s.account(s.keptMaps()[i])); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Every block of every segment is in the drawing, and the table's totals are the allocator's.
func TestBlocksSum(t *testing.T) {
	for _, state := range states {
		s := subject(t, state, content.French)
		var all tally
		pieces := 0
		for _, seg := range s.Now.Segments {
			all.add(seg)
			pieces += len(seg.Blocks)
		}
		if all.asked+all.rounding+all.free != all.segment || all.segment == 0 {
			t.Errorf("%+v: %+v does not sum", state, all)
		}
		if all.asked+all.rounding < s.Now.Peak.Live {
			t.Errorf("%+v: blocks of %d for %d live bytes", state, all.asked+all.rounding, s.Now.Peak.Live)
		}
		drawn := strings.Count(HTML(Blocks, s, ""), "data-tip=")
		if drawn != pieces {
			t.Errorf("%+v: %d pieces for %d blocks", state, drawn, pieces)
		}
		if !strings.Contains(HTML(Blocks, s, ""), s.count(all.segment)) {
			t.Errorf("%+v: the table does not hold the total", state)
		}
	}
}

// The curve's points are answers like any other; it crosses the limit between
// the largest batch that fits and the next.
func TestCurve(t *testing.T) {
	for _, state := range states {
		s := subject(t, state, content.French)
		best := *s.Now.MaxBatch
		last := int64(0)
		edge := 0
		for _, p := range s.Curve.Points {
			if p.Batch <= last {
				t.Fatalf("%+v: batch %d after %d", state, p.Batch, last)
			}
			last = p.Batch
			if p.Least > p.Device {
				t.Errorf("%+v: %+v", state, p)
			}
			if p.Batch == best && p.Fits || p.Batch == best+1 && !p.Fits {
				edge++
			}
		}
		if last != s.Curve.Top || s.Curve.Top < state.Batch || s.Curve.Top < best {
			t.Errorf("%+v: the axis ends at %d, the points at %d", state, s.Curve.Top, last)
		}
		if want := map[bool]int{true: 2, false: 1}[best > 0]; edge != want {
			t.Errorf("%+v: the edge at %d is not among the points", state, best)
		}
		r := s.Request
		r.Batch = s.Curve.Points[3].Batch
		alone, err := calc.Estimate(r)
		if err != nil || alone.Peak.Device != s.Curve.Points[3].Device {
			t.Errorf("%+v: %+v, asked alone %d (%v)", state, s.Curve.Points[3], alone.Peak.Device, err)
		}
	}
}

func TestAxisTop(t *testing.T) {
	for _, c := range []struct{ batch, best, want int64 }{{32, 474, 640}, {1, 0, 8}, {1024, 10, 1200}, {32, 0, 32}, {8, 5, 8}, {9, 5, 10}, {1, 9200, 12000}} {
		if got := axisTop(c.batch, c.best); got != c.want {
			t.Errorf("axisTop(%d, %d) = %d, want %d", c.batch, c.best, got, c.want)
		}
	}
}

// As many boxes are full as the optimizer keeps values.
func TestSlots(t *testing.T) {
	for _, o := range view.Optimizers {
		s := subject(t, view.Default().WithOptimizer(o.ID), content.French)
		source := Parts(Slots, s, Always)[0].HTML()
		if full := int64(strings.Count(source, `fill="url(#f-`)); full != o.Values {
			t.Errorf("%s: %d full boxes, want %d", o.ID, full, o.Values)
		}
		if !strings.Contains(HTML(Slots, s, ""), view.Exact(content.French, o.Values*538981*4)) {
			t.Errorf("%s: the table lacks its total", o.ID)
		}
	}
}

// The images fill the share of the frame that their bytes are of its size, unless whole rows leave gaps.
func TestImagesFillTheirShare(t *testing.T) {
	for _, state := range states {
		s := subject(t, state, content.English)
		total := state.Batch * 3 * state.Side * state.Side * 4
		frame := frameOf(total)
		if frame < total || frame > 4*total && frame != 1_000_000 {
			t.Errorf("%+v: a frame of %d for %d", state, frame, total)
		}
		source := Parts(Images, s, Always)[0].HTML()
		m := regexp.MustCompile(`id="images-tile" width="([\d.]+)"`).FindStringSubmatch(source)
		side, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		got, want := side*side*float64(state.Batch)/(frameWide*frameHigh), float64(total)/float64(frame)
		if got > want*1.01 || got < want*.6 {
			t.Errorf("%+v: %.3f of the frame for %.3f of its bytes", state, got, want)
		}
	}
}

// The cursor's column tells its tensors, which sum to the live bytes there.
func TestLiveTensors(t *testing.T) {
	s := subject(t, view.Default(), content.French)
	for i, p := range s.Now.Timeline {
		var sum int64
		for _, l := range s.liveAt(i) {
			sum += l.bytes
		}
		if sum != p.Live {
			t.Errorf("operation %d: tensors of %d bytes, %d are live", i, sum, p.Live)
		}
	}
	list, places := walkColumns(s.Now.Timeline)
	for i := range list {
		middle := (float64(places.left(i)) + float64(places.width[i])/2) / float64(places.total)
		if got := At(&s.Now, middle); got != i {
			t.Errorf("at %v of the drawing: column %d, want %d", middle, got, i)
		}
	}
	s.Cursor = 0
	first := Parts(Timeline, s, Looked)
	s.Cursor = AtPeak
	if peak := Parts(Timeline, s, Looked); first[2].HTML() == peak[2].HTML() || first[1].Attributes[2].Value != "0" {
		t.Error("the cursor moves nothing")
	}
}

// Inference is on the scale of training, and lower.
func TestInfer(t *testing.T) {
	s := subject(t, view.Default(), content.French)
	if len(s.Infer().Timeline) == 0 || s.Infer().Peak.Live >= s.Now.Peak.Live {
		t.Fatalf("inference %+v, training %+v", s.Infer().Peak, s.Now.Peak)
	}
	text := readable(parse(t, HTML(Infer, s, "")))
	for _, n := range []int64{s.Now.Peak.Live, s.Infer().Peak.Live} {
		if !strings.Contains(text, view.Exact(content.French, n)) {
			t.Errorf("no %d", n)
		}
	}
}

// The layers' table sorts by each column, both ways, and keeps its rows.
func TestLayersSort(t *testing.T) {
	s := subject(t, view.Default(), content.English)
	first := func() string { return s.sorted()[0].Path }
	for _, c := range []struct{ column, once, twice string }{
		{ByCall, "<loss>", "0"}, {BySaved, "1", "0"}, {ByParams, "9", "1"}, {ByType, "11", "<loss>"}, {ByOutput, "0", "<loss>"},
	} {
		s.Sort = Sort{}.By(c.column)
		once := first()
		s.Sort = s.Sort.By(c.column)
		if twice := first(); once != c.once || twice != c.twice {
			t.Errorf("by %s: %s first, then %s, want %s and %s", c.column, once, twice, c.once, c.twice)
		}
		if len(s.sorted()) != len(s.Now.Layers) {
			t.Errorf("by %s: rows are lost", c.column)
		}
		source := Parts(Layers, s, Sorted)[0].HTML()
		if n := strings.Count(source, `aria-sort="none"`); n != 4 {
			t.Errorf("by %s: %d columns unsorted", c.column, n)
		}
	}
}

// A layer that shares its weights says with which, and does not count them again.
func TestLayersTied(t *testing.T) {
	state := view.Start(view.PageWorkshop).With(view.ScrubBatch, 1)
	state.Setup = state.Setup.With(view.SetupModel, "gpt2")
	s := subject(t, state, content.English)
	source := Parts(Layers, s, Sorted)[0].HTML()
	if !strings.Contains(source, "<td><small>shared with transformer.wte</small></td>") || !strings.Contains(source, "<td>"+s.count(s.Now.Parameters.Total)+"</td>") {
		t.Errorf("the table of GPT-2: %s", source[max(0, len(source)-2000):])
	}
	for format, want := range map[string]string{"csv": "lm_head,Linear,1x128x50257,0,393216,transformer.wte\n", "markdown": "| lm_head | Linear | 1x128x50257 | 0 | 393216 | transformer.wte |\n"} {
		if got := LayersText(s, format); !strings.Contains(got, want) {
			t.Errorf("%s of GPT-2 ends %q", format, got[max(0, len(got)-300):])
		}
	}
}

// The table as text holds every layer's exact numbers.
func TestLayersText(t *testing.T) {
	s := subject(t, view.Default(), content.French)
	s.Sort = Sort{}.By(BySaved)
	for format, want := range map[string]string{
		"csv":      "path,type,output,params,saved,tied\n1,ReLU,32x32x128x128,0,67108864,\n",
		"markdown": "| path | type | output | params | saved | tied |\n|---|---|---|---:|---:|---|\n| 1 | ReLU | 32x32x128x128 | 0 | 67108864 |  |\n",
		"json":     "[\n  {\n    \"path\": \"1\",\n    \"type\": \"ReLU\",\n    \"output\": [\n      32,\n      32,\n      128,\n      128\n    ],\n    \"params\": 0,\n    \"saved\": 67108864\n  },",
	} {
		got := LayersText(s, format)
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s begins %q", format, got[:min(len(got), 200)])
		}
	}
	if got := strings.Count(LayersText(s, "csv"), "\n"); got != len(s.Now.Layers)+1 {
		t.Errorf("%d lines for %d layers", got, len(s.Now.Layers))
	}
	if got := quoted(`a "b", c`); got != `"a ""b"", c"` {
		t.Errorf("quoted: %s", got)
	}
}
