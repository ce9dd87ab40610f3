package figure

import (
	"slices"

	"vrametre/calc"
	"vrametre/web/ui/markup"
	"vrametre/web/view"
)

// blocks: the caching allocator's segments at the peak, each cut into its
// blocks; what rounding loses is a piece of its own, what is free is empty.
var blocks = design{
	parts: []part{
		{name: "drawing", when: Late, draw: drawBlocks},
		{name: "table", when: Late, draw: tableBlocks},
	},
	frame: browsed(Blocks),
	wide:  true,
}

// tally adds up segments.
type tally struct{ segment, asked, rounding, free int64 }

func (t *tally) add(seg calc.Segment) {
	t.segment += seg.Bytes
	for _, b := range seg.Blocks {
		if b.Kind == "" {
			t.free += b.Bytes
			continue
		}
		t.asked += b.Requested
		t.rounding += b.Bytes - b.Requested
	}
}

const (
	// The widest segment, in ems, as wide as the narrowest screen allows, and all
	// segments one after the other.
	widestSegment, allSegments = 17., 170.
	// Every segment and every block can be seen.
	leastSegment, leastBlock = .5, .12
)

func drawBlocks(s *Subject) []markup.Node {
	segments := s.Now.Segments
	if len(segments) == 0 {
		return nil
	}
	var all tally
	largest := int64(0)
	for _, seg := range segments {
		all.add(seg)
		largest = max(largest, seg.Bytes)
	}
	scale := min(widestSegment/float64(largest), allSegments/float64(all.segment))
	items := make([]markup.Node, len(segments))
	for i, seg := range segments {
		items[i] = s.segment(seg, max(leastSegment, float64(seg.Bytes)*scale))
	}
	var kinds []string
	for _, kind := range view.Kinds {
		if slices.ContainsFunc(segments, func(seg calc.Segment) bool {
			return slices.ContainsFunc(seg.Blocks, func(b calc.Block) bool { return b.Kind != "" && view.KindOf(b.Kind) == kind })
		}) {
			kinds = append(kinds, kind)
		}
	}
	args := view.Args{"n": len(segments), "segments": all.segment, "asked": all.asked, "rounding": all.rounding, "free": all.free}
	return []markup.Node{
		s.legend(kinds),
		markup.Elem("ul", markup.A("class", "segments", "aria-label", s.text("figure.blocks.label", args)), items...),
		markup.Elem("p", markup.A("class", "scale"), markup.Text(s.text("figure.blocks.sum", args))),
	}
}

// segment draws one segment, width ems wide.
func (s *Subject) segment(seg calc.Segment, width float64) markup.Node {
	kids := []markup.Node{elem("rect", "class", "frame", "width", "100%", "height", "100%")}
	at := int64(0)
	of := func(n int64) string { return percent(float64(n), float64(seg.Bytes)) }
	for _, b := range seg.Blocks {
		x, wide := of(at), of(b.Bytes)
		at += b.Bytes
		if b.Kind == "" {
			kids = append(kids, elem("rect", "class", "free", "x", x, "width", wide, "height", "100%", "data-tip", s.text("figure.blocks.free", view.Args{"size": b.Bytes, "segment": seg.Bytes})))
			continue
		}
		kind := view.KindOf(b.Kind)
		tip := s.text("figure.blocks.block", view.Args{"part": s.text("part."+b.Kind, nil), "place": s.place(b.At), "asked": b.Requested, "size": b.Bytes, "rounding": b.Bytes - b.Requested})
		if float64(b.Bytes)*width < leastBlock*float64(seg.Bytes) {
			wide = percent(leastBlock, width)
		}
		kids = append(kids, elem("rect", "class", "block", "x", x, "width", wide, "height", "100%", "fill", fill(kind), "data-kind", kind, "data-tip", tip))
		if lost := b.Bytes - b.Requested; float64(lost)*width >= leastBlock/4*float64(seg.Bytes) { // thinner than a hair, it would only hide its block
			kids = append(kids, elem("rect", "class", "lost", "x", of(at-lost), "width", of(lost), "height", "100%", "fill", "url(#f-lost)"))
		}
	}
	return markup.Elem("li", nil, markup.Elem("svg", markup.A("aria-hidden", "true", "width", em(width), "height", "1.8em"), kids...))
}

func tableBlocks(s *Subject) []markup.Node {
	var rows []cells
	var all tally
	for i, seg := range s.Now.Segments {
		var one tally
		one.add(seg)
		all.add(seg)
		pool := "figure.blocks.large"
		if seg.Small {
			pool = "figure.blocks.small"
		}
		rows = append(rows, words(s.text("figure.blocks.nth", view.Args{"n": i + 1, "pool": s.text(pool, nil)}),
			s.count(int64(len(seg.Blocks))), s.count(one.asked), s.count(one.rounding), s.count(one.free), s.count(one.segment)))
	}
	rows = append(rows, words(s.text("where.total", nil), "", s.count(all.asked), s.count(all.rounding), s.count(all.free), s.count(all.segment)))
	return []markup.Node{s.table(s.text("figure.blocks.table", nil),
		[]string{"figure.blocks.segment", "figure.blocks.count", "figure.blocks.asked", "figure.blocks.rounding", "figure.blocks.unused", "figure.blocks.size"}, rows, true)}
}
