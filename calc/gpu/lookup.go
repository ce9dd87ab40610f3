package gpu

import (
	"slices"
	"strings"
)

// Kinds of Match.
const (
	KindCard     = "card"     // Cards holds what it can be
	KindVendor   = "vendor"   // only the maker is known: ask
	KindMasked   = "masked"   // the browser names a card that stands for many: ask
	KindSoftware = "software" // no graphics card at work
	KindUnknown  = "unknown"
)

// Match is what a browser's answer can mean.
type Match struct {
	Kind string `json:"kind"`
	// Vendor is the catalogue's name of the maker; empty: unknown.
	Vendor string `json:"vendor,omitzero"`
	// PCI is the device id that the answer holds, four lower-case hexadecimal digits.
	PCI string `json:"pci,omitzero"`
	// Cards are the candidates, the likeliest first.
	Cards []Card `json:"cards"`
	// SizesGiB are the memory sizes that remain, the likeliest first; several: ask.
	SizesGiB []int64 `json:"sizes_gib,omitempty"`
}

// Lookup reads a WebGL renderer string, the description that WebGPU may give,
// or a PCI id ("0x2504", "10de:2504").
func Lookup(text string) Match {
	text = strings.TrimSpace(text)
	m := Match{Vendor: vendorOf(text), Kind: KindUnknown, Cards: []Card{}}
	lower := strings.ToLower(text)
	switch {
	case text == "":
		return m
	case strings.HasSuffix(lower, ", or similar"):
		// Firefox's bucket: one name for a whole range of cards.
		m.Kind = KindMasked
		return m
	case isSoftware(lower):
		m.Kind, m.Vendor = KindSoftware, ""
		return m
	case lower == "apple gpu" || lower == "apple":
		m.Kind, m.Vendor = KindVendor, "apple"
		return m
	}
	if id, whole := pciOf(text); id != "" {
		m.PCI = id
		if whole {
			m.Vendor = ""
		}
	}
	x := load()
	named := -1
	for i := range x.cards {
		if p := x.cards[i].match; p != nil && p.matches(text) {
			named = i
			break
		}
	}
	numbered := x.byPCI[m.PCI]
	switch {
	case named >= 0 && (len(numbered) == 0 || slices.Contains(numbered, named)):
		m.add(x.cards[named])
	case named >= 0: // the number says another card than the name: both may be meant
		m.add(x.cards[named])
		fallthrough
	default:
		for _, i := range numbered {
			if m.Vendor == "" || m.Vendor == x.cards[i].Vendor {
				m.add(x.cards[i])
			}
		}
	}
	if len(m.Cards) > 0 {
		m.Kind, m.Vendor = KindCard, m.Cards[0].Vendor
	} else if m.Vendor != "" {
		m.Kind = KindVendor
	}
	return m
}

// add appends a candidate with the sizes it leaves open.
func (m *Match) add(c Card) {
	m.Cards = append(m.Cards, c)
	sizes := c.VRAMGiB
	for _, p := range c.PCI {
		if p.ID == m.PCI && p.VRAMGiB > 0 {
			sizes = []int64{p.VRAMGiB}
		}
	}
	for _, s := range sizes {
		if !slices.Contains(m.SizesGiB, s) {
			m.SizesGiB = append(m.SizesGiB, s)
		}
	}
}

// ByPCI returns the cards of a PCI device id.
func ByPCI(id string) []Card {
	x := load()
	var out []Card
	if id, _ := pciOf(id); id != "" {
		for _, i := range x.byPCI[id] {
			out = append(out, x.cards[i])
		}
	}
	return out
}

// ByArchitecture returns what adapter.info's vendor and architecture leave
// open: a set of cards, and in ascending order the sizes of the desktop and
// laptop cards among them, of all where there are none such. It never singles
// a card out: a size must be asked for. Safari answers "apple" for both; Chrome
// gives no architecture for Hopper, Instinct MI300 and the like.
func ByArchitecture(vendor, architecture string) Match {
	vendor, architecture = strings.ToLower(vendor), strings.ToLower(architecture)
	m := Match{Kind: KindUnknown, Cards: []Card{}}
	if vendor == "google" || vendor == "mesa" || vendor == "microsoft" || architecture == "swiftshader" || architecture == "warp" {
		m.Kind = KindSoftware
		return m
	}
	for _, c := range load().cards {
		if c.WebGPUVendor != vendor || vendor == "" || c.Segment == CloudFree {
			continue
		}
		m.Kind, m.Vendor = KindVendor, vendor
		if c.WebGPUArchitecture != architecture && vendor != "apple" {
			continue
		}
		m.Cards = append(m.Cards, c)
	}
	owned := func(c Card) bool { return c.Segment == Desktop || c.Segment == Laptop }
	for _, c := range m.Cards {
		if slices.ContainsFunc(m.Cards, owned) && !owned(c) {
			continue
		}
		for _, s := range c.VRAMGiB {
			if !slices.Contains(m.SizesGiB, s) {
				m.SizesGiB = append(m.SizesGiB, s)
			}
		}
	}
	if len(m.Cards) > 0 && architecture != "" {
		m.Kind = KindCard
	}
	slices.Sort(m.SizesGiB)
	return m
}

// WithHeap narrows a match by the largest device-local heap that WebGPU
// reports behind Chrome's developer flag, the only true reading of memory a
// browser gives: the sizes that heap can belong to remain, and the cards sold with them.
func (m Match) WithHeap(bytes int64) Match {
	fits := func(gib int64) bool { // a heap is the memory less what the driver keeps
		return bytes <= gib<<30 && bytes >= gib<<30/8*7
	}
	out := m
	out.Cards, out.SizesGiB = []Card{}, nil
	for _, c := range m.Cards {
		if slices.ContainsFunc(c.VRAMGiB, fits) {
			out.Cards = append(out.Cards, c)
		}
	}
	for _, s := range m.SizesGiB {
		if fits(s) {
			out.SizesGiB = append(out.SizesGiB, s)
		}
	}
	if len(out.Cards) == 0 || len(out.SizesGiB) == 0 {
		return m // a heap that no candidate can have says the candidates are wrong, not which is right
	}
	return out
}

func isSoftware(lower string) bool {
	for _, name := range []string{"swiftshader", "llvmpipe", "softpipe", "lavapipe", "basic render driver", "software adapter", "software rasterizer"} {
		if strings.Contains(lower, name) {
			return true
		}
	}
	return false
}

// vendorOf is the maker that a name tells, by the catalogue's names or WebGPU's.
func vendorOf(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r < 'a' || r > 'z' })
	for _, v := range []struct {
		vendor string
		marks  []string
	}{
		{"nvidia", []string{"nvidia", "geforce", "quadro", "tesla", "titan"}},
		{"amd", []string{"amd", "radeon", "ati", "instinct", "radeonsi"}},
		{"intel", []string{"intel"}},
		{"apple", []string{"apple"}},
		{"qualcomm", []string{"qualcomm", "adreno"}},
		{"arm", []string{"mali", "arm"}},
		{"img-tec", []string{"powervr", "imagination"}},
		{"samsung", []string{"xclipse", "samsung"}},
	} {
		for _, w := range words {
			if slices.Contains(v.marks, w) {
				return v.vendor
			}
		}
	}
	return ""
}

// pciOf finds a PCI device id: the whole text ("0x2504", "2504", "10de:2504")
// or, in a renderer string, "(0x00002504)". whole tells which.
func pciOf(text string) (id string, whole bool) {
	s := strings.ToLower(strings.TrimSpace(text))
	if _, after, ok := strings.Cut(s, ":"); ok && len(s) == 9 {
		s = after
	}
	if h := strings.TrimPrefix(s, "0x"); isHex(h) && (len(h) == 4 || len(h) == 8 && strings.HasPrefix(h, "0000")) {
		return h[len(h)-4:], true
	}
	for rest := s; ; {
		_, after, ok := strings.Cut(rest, "(0x")
		if !ok {
			return "", false
		}
		if h, _, ok := strings.Cut(after, ")"); ok && isHex(h) && len(h) == 8 && strings.HasPrefix(h, "0000") {
			return h[4:], false
		}
		rest = after
	}
}

func isHex(s string) bool {
	return s != "" && strings.Trim(s, "0123456789abcdef") == ""
}
