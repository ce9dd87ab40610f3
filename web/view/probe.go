package view

import (
	"slices"
	"strconv"
	"strings"

	"vrametre/calc"
	"vrametre/calc/gpu"
	"vrametre/content"
)

// Probe is what a browser answers about the graphics card.
type Probe struct {
	// Asked says that the answers are there; the other fields mean nothing before.
	Asked bool `json:"asked"`
	// Secure says that the page has a secure context, without which there is no WebGPU.
	Secure bool `json:"secure"`
	// Opaque says that the page is in a frame without an origin of its own.
	Opaque bool `json:"opaque,omitzero"`
	// API says that the browser has WebGPU; Refused that asking it threw.
	API     bool `json:"api"`
	Refused bool `json:"refused,omitzero"`
	// Adapter is WebGPU's; nil: it offers none.
	Adapter *Adapter `json:"adapter,omitempty"`
	// WebGL says that the browser draws with WebGL; Renderer is the name it gives.
	WebGL    bool   `json:"webgl"`
	Renderer string `json:"renderer,omitzero"`
	// MemoryGiB is navigator.deviceMemory, a power of two near the computer's memory; 0: not told.
	MemoryGiB float64 `json:"memory_gib,omitzero"`
	// Lost says that the card was lost while it was in use.
	Lost bool `json:"lost,omitzero"`
}

// Adapter is WebGPU's. Any of its strings may be empty.
type Adapter struct {
	Vendor       string `json:"vendor"`
	Architecture string `json:"architecture"`
	Device       string `json:"device,omitzero"`
	Description  string `json:"description,omitzero"`
	// Fallback is isFallbackAdapter: the processor stands in for a card.
	Fallback bool `json:"fallback,omitzero"`
	// Limits are all of its numbers by name.
	Limits map[string]int64 `json:"limits,omitempty"`
	// HeapBytes is the largest device-local memory heap; 0: not told.
	HeapBytes int64 `json:"heap_bytes,omitzero"`
}

// Conclusions of Reading: how much choice is left.
const (
	ConclusionUnasked = "unasked"
	ConclusionFound   = "found" // one card with one memory
	ConclusionSizes   = "sizes" // one card, several memories
	ConclusionCards   = "cards" // several cards
	ConclusionNone    = "none"  // nothing to choose from
)

// Reading is what a probe means.
type Reading struct {
	// State is the code of what WebGPU answered.
	State string
	// Sentences say what the browser told, source by source.
	Sentences []string
	// Conclusion is one of the Conclusion codes; Question says it to the reader.
	Conclusion, Question string
	Match                gpu.Match
	// Options are the choices that remain.
	Options []CardOption
	Limits  []LimitRow
}

// CardOption is a card with one of its memories.
type CardOption struct {
	Device Device
	Label  string
}

// Key names the option in a list.
func (o CardOption) Key() string {
	return o.Device.GPU + "/" + strconv.FormatInt(o.Device.Size(), 10)
}

// ParseOption reads a Key.
func ParseOption(d Device, key string) Device {
	id, size, _ := strings.Cut(key, "/")
	n, _ := strconv.ParseInt(size, 10, 64)
	return d.WithGPU(id).WithSize(n)
}

// Vendors as they write themselves.
var vendors = map[string]string{
	"nvidia": "NVIDIA", "amd": "AMD", "intel": "Intel", "apple": "Apple", "qualcomm": "Qualcomm", "arm": "Arm", "img-tec": "Imagination", "samsung": "Samsung",
}

func vendorName(code string) string {
	if name := vendors[code]; name != "" {
		return name
	}
	return code
}

// Read says what the browser's answers mean, and which cards they leave.
// current keeps what is known of the computer in the options.
func (p Probe) Read(current Device, lang content.Lang) Reading {
	r := Reading{State: "unasked", Conclusion: ConclusionUnasked, Match: gpu.Match{Kind: gpu.KindUnknown}}
	say := func(code string, args Args) { r.Sentences = append(r.Sentences, Text(lang, "probe."+code, args)) }
	if !p.Asked {
		say(r.State, nil)
		r.Question = Text(lang, "probe.conclusion."+r.Conclusion, nil)
		return r
	}
	adapter, args := p.readAdapter()
	r.State = adapter.state
	say(r.State, args)
	webgl := gpu.Match{Kind: gpu.KindUnknown}
	if p.WebGL {
		webgl = gpu.Lookup(p.Renderer)
		args := Args{"renderer": p.Renderer, "vendor": vendorName(webgl.Vendor)}
		code := "webgl." + webgl.Kind
		switch {
		case webgl.Kind == gpu.KindCard:
			args["name"] = webgl.Cards[0].Name
		case p.Renderer == "":
			code = "webgl.silent"
		}
		say(code, args)
	} else {
		say("webgl.none", nil)
	}
	r.Match = adapter.match
	// WebGL's name says more than WebGPU's family, unless they speak of two chips.
	two := adapter.match.Vendor != "" && webgl.Vendor != "" && adapter.match.Vendor != webgl.Vendor
	switch {
	case two:
		say("two", Args{"vendor": vendorName(adapter.match.Vendor), "other": vendorName(webgl.Vendor)})
	case r.State != "named" && (webgl.Kind == gpu.KindCard || len(r.Match.Cards) == 0 && webgl.Vendor != ""):
		r.Match = webgl
	}
	if p.Adapter != nil && p.Adapter.HeapBytes > 0 && r.State != gpu.KindSoftware {
		say("heap", Args{"bytes": p.Adapter.HeapBytes})
		r.Match = r.Match.WithHeap(p.Adapter.HeapBytes)
	}
	if r.Match.Vendor == "apple" && p.MemoryGiB > 0 {
		say("memory", Args{"n": int64(p.MemoryGiB)})
	}
	if integrated(r.Match) || integrated(webgl) {
		say("integrated", nil)
	}
	if p.Opaque {
		say("opaque", nil)
	}
	if p.Lost {
		say("lost", nil)
	}
	r.conclude(current, lang)
	return r
}

// readAdapter says what WebGPU's answer is, and what it leaves.
func (p Probe) readAdapter() (read struct {
	state string
	match gpu.Match
}, args Args) {
	read.match = gpu.Match{Kind: gpu.KindUnknown}
	switch {
	case !p.Secure && !p.API:
		read.state = "insecure"
	case !p.API:
		read.state = "no-webgpu"
	case p.Refused:
		read.state = "refused"
	case p.Adapter == nil:
		read.state = "no-adapter"
	}
	if read.state != "" {
		return read, nil
	}
	a := p.Adapter
	read.match = gpu.ByArchitecture(a.Vendor, a.Architecture)
	named := gpu.Lookup(a.Description)
	id := strings.TrimPrefix(strings.ToLower(a.Device), "0x")
	if len(id) == 4 {
		// The number tells sizes of one name apart.
		if numbered := gpu.Lookup(strings.TrimSpace(a.Description + " (0x0000" + id + ")")); numbered.Kind == gpu.KindCard {
			named = numbered
		}
	}
	switch {
	case a.Fallback || read.match.Kind == gpu.KindSoftware || named.Kind == gpu.KindSoftware:
		read.state, read.match = gpu.KindSoftware, gpu.Match{Kind: gpu.KindSoftware}
	case named.Kind == gpu.KindCard:
		read.state, read.match, args = "named", named, Args{"name": named.Cards[0].Name}
	case a.Vendor == "":
		read.state = gpu.KindMasked
	case a.Architecture == "" || a.Architecture == a.Vendor:
		// No architecture stands for many: Chrome gives none for some data-centre cards.
		read.state, args = "vendor", Args{"vendor": vendorName(a.Vendor)}
		read.match.Cards, read.match.SizesGiB = nil, nil
	default:
		read.state, args = "architecture", Args{"vendor": vendorName(a.Vendor), "architecture": a.Architecture}
	}
	if read.match.Vendor == "" && read.state != gpu.KindSoftware {
		read.match.Vendor = a.Vendor
	}
	return read, args
}

// integrated says that a match is probably the processor's own graphics, which
// bear a maker's name alone or one of the catalogue's systems on a chip.
func integrated(m gpu.Match) bool {
	if m.Vendor != "intel" && m.Vendor != "amd" {
		return false
	}
	if len(m.Cards) == 0 {
		return m.Kind == gpu.KindVendor
	}
	return !slices.ContainsFunc(m.Cards, func(c gpu.Card) bool { return c.Segment != gpu.SoC })
}

// conclude says how much choice is left.
func (r *Reading) conclude(current Device, lang content.Lang) {
	cards := map[string]bool{}
	for _, c := range r.Match.Cards {
		for _, size := range c.VRAMGiB {
			// Sizes narrow a named card or a heap; a family's are those of what readers own.
			if len(r.Match.Cards) == 1 && !slices.Contains(r.Match.SizesGiB, size) {
				continue
			}
			d := current.WithGPU(c.ID).WithSize(size)
			cards[c.ID] = true
			r.Options = append(r.Options, CardOption{d, Text(lang, "gpu.sized", Args{"name": c.Name, "n": size})})
		}
	}
	args := Args{"n": len(cards)}
	switch {
	case len(r.Options) == 0:
		r.Conclusion = ConclusionNone
	case len(r.Options) == 1:
		r.Conclusion, args = ConclusionFound, Args{"name": r.Options[0].Label}
	case len(cards) == 1:
		r.Conclusion, args = ConclusionSizes, Args{"name": r.Options[0].Device.Card().Name}
	default:
		r.Conclusion = ConclusionCards
	}
	r.Question = Text(lang, "probe.conclusion."+r.Conclusion, args)
}

// LimitRow is one of WebGPU's limits and what it means for a network.
type LimitRow struct {
	Name, Value, Meaning string
	Bytes                int64
}

// limits that are bytes, with what they mean, the telling ones first.
var explainedLimits = []struct {
	name  string
	bytes bool
}{
	{LimitBuffer, true}, {LimitBinding, true}, {"maxUniformBufferBindingSize", true}, {"maxComputeWorkgroupStorageSize", true},
	{"maxComputeInvocationsPerWorkgroup", false}, {"maxComputeWorkgroupsPerDimension", false}, {"maxStorageBuffersPerShaderStage", false},
	{"maxTextureDimension2D", false}, {"maxTextureDimension3D", false},
}

// Names of the limits that a tensor can exceed.
const (
	LimitBuffer  = "maxBufferSize"
	LimitBinding = "maxStorageBufferBindingSize"
)

// Limits lists every limit of an adapter: those that mean something for a
// network first, the others in alphabetical order.
func (p Probe) Limits(r calc.Result, lang content.Lang) []LimitRow {
	if p.Adapter == nil {
		return nil
	}
	var rows []LimitRow
	seen := map[string]bool{}
	for _, l := range explainedLimits {
		n, ok := p.Adapter.Limits[l.name]
		if !ok {
			continue
		}
		seen[l.name] = true
		row := LimitRow{Name: l.name, Value: Count(lang, n), Meaning: Text(lang, "probe.limit."+l.name, nil)}
		if l.bytes {
			row.Value, row.Bytes = Binary(lang, n), n
		}
		if l.name == LimitBuffer || l.name == LimitBinding {
			row.Meaning += " " + exceeding(r, n, lang)
		}
		rows = append(rows, row)
	}
	explained := len(rows)
	for name, n := range p.Adapter.Limits {
		if !seen[name] {
			rows = append(rows, LimitRow{Name: name, Value: Count(lang, n), Meaning: Text(lang, "probe.limit.other", nil)})
		}
	}
	slices.SortFunc(rows[explained:], func(a, b LimitRow) int { return strings.Compare(a.Name, b.Name) })
	return rows
}

// named of at most this many layers; the rest is counted.
const layersNamed = 4

// exceeding says which outputs of a network are larger than a limit.
func exceeding(r calc.Result, limit int64, lang content.Lang) string {
	var largest calc.LayerRow
	var most int64
	var names []string
	over := 0
	for _, row := range r.Layers {
		n := int64(valueBytes)
		for _, side := range row.Output {
			n *= side
		}
		if len(row.Output) == 0 {
			continue
		}
		if n > most {
			largest, most = row, n
		}
		if n > limit {
			if over++; over <= layersNamed {
				names = append(names, Text(lang, "place.layer", Args{"path": row.Path, "type": row.Type}))
			}
		}
	}
	if over > layersNamed {
		names = append(names, "…")
	}
	if most == 0 {
		return Text(lang, "probe.limit.empty", nil)
	}
	args := Args{"n": over, "list": strings.Join(names, ", "), "bytes": most, "layer": Text(lang, "place.layer", Args{"path": largest.Path, "type": largest.Type})}
	if over == 0 {
		return Text(lang, "probe.limit.under", args)
	}
	return Text(lang, "probe.limit.over", args)
}
