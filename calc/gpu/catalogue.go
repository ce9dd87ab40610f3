// Package gpu knows graphics cards: a catalogue, what a browser's answers can
// mean in it, and how much of a card's memory a PyTorch program can use. It
// does no I/O and reads no clock; all sizes are int64 bytes unless their name
// says otherwise.
package gpu

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// The catalogue: one card per line, tab-separated, columns named in the first
// line. Lists are separated by ";". vram_gib is per device, the likeliest size
// first; pci holds device ids, "=N" where the id tells the size; an empty cell
// is unknown. match holds the names that browsers give, the first line that
// matches wins: "|" parts alternatives, "{a,b}" chooses, "#" is a digit, "%" a
// hexadecimal one, "*" anything, "~" where a name ends in the forms known.
//
//go:embed catalogue.tsv
var catalogue string

// Segments of Card.
const (
	Desktop     = "desktop"
	Laptop      = "laptop"
	Workstation = "workstation"
	Datacenter  = "datacenter"
	SoC         = "soc"        // memory shared with the processor
	CloudFree   = "cloud-free" // a free notebook service
)

// Card is a line of the catalogue.
type Card struct {
	ID           string `json:"id"`
	Name         string `json:"name"`
	Vendor       string `json:"vendor"`
	Architecture string `json:"architecture"`
	Segment      string `json:"segment"`
	// Devices is how many devices PyTorch sees; every size is that of one.
	Devices int `json:"devices"`
	// VRAMGiB lists the sizes sold under this name, the likeliest first; empty: the system's memory.
	VRAMGiB            []int64 `json:"vram_gib,omitempty"`
	BandwidthGBs       float64 `json:"bandwidth_gbs,omitzero"`
	Year               int     `json:"year,omitzero"`
	WebGPUVendor       string  `json:"webgpu_vendor,omitzero"`
	WebGPUArchitecture string  `json:"webgpu_architecture,omitzero"`
	PCI                []PCI   `json:"pci,omitempty"`
	// SMIMiB is the total that nvidia-smi shows, of the first size; 0: unknown.
	SMIMiB int64 `json:"nvidia_smi_mib,omitzero"`
	// TorchLinuxGiB and TorchWindowsGiB are totals seen in PyTorch's messages, lowest and highest, of the first size.
	TorchLinuxGiB   [2]float64 `json:"torch_linux_gib,omitzero"`
	TorchWindowsGiB [2]float64 `json:"torch_windows_gib,omitzero"`
	Sources         []string   `json:"sources"`

	match *matcher
}

// PCI is a PCI device id, lower-case hexadecimal, and the size it tells; 0: it tells none.
type PCI struct {
	ID      string `json:"id"`
	VRAMGiB int64  `json:"vram_gib,omitzero"`
}

// matcher is the pattern of a card's names, spelt out when a name is first looked up.
type matcher struct {
	pattern string
	once    sync.Once
	names   []string // without braces
}

func newMatcher(pattern string) *matcher {
	if pattern == "" {
		return nil // an empty pattern would match everything
	}
	return &matcher{pattern: pattern}
}

// matches says whether the pattern occurs in text.
func (m *matcher) matches(text string) bool {
	m.once.Do(func() {
		for alternative := range strings.SplitSeq(m.pattern, "|") {
			m.names = append(m.names, spell(alternative)...)
		}
	})
	for _, name := range m.names {
		n := strings.IndexAny(name, "~#%*")
		if n < 0 {
			n = len(name)
		}
		for at := 0; at <= len(text); at++ {
			i := strings.Index(text[at:], name[:n])
			if i < 0 {
				break
			}
			if at += i; follows(text[at+n:], name[n:]) {
				return true
			}
		}
	}
	return false
}

// spell lists what "a{b,c{,d}}e" stands for.
func spell(pattern string) []string {
	open := strings.IndexByte(pattern, '{')
	if open < 0 {
		return []string{pattern}
	}
	var choices []string
	depth, start, end := 0, open+1, len(pattern)
	for i := open; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '{':
			depth++
		case c == ',' && depth == 1:
			choices = append(choices, pattern[start:i])
			start = i + 1
		case c == '}':
			if depth--; depth == 0 {
				choices = append(choices, pattern[start:i])
				end = i + 1
			}
		}
		if depth == 0 {
			break
		}
	}
	var out []string
	for _, c := range choices {
		out = append(out, spell(pattern[:open]+c+pattern[end:])...)
	}
	return out
}

// follows says whether text begins with the rest of a name.
func follows(text, name string) bool {
	for i := 0; i < len(name); i++ {
		switch name[i] {
		case '~':
			if text == "" {
				return true
			}
			for _, end := range []string{" (", "/PCIe", "/SSE2", " Direct3D", " OpenGL", ",", ")"} {
				if strings.HasPrefix(text, end) {
					return true
				}
			}
			return false
		case '*':
			for j := 0; j <= len(text); j++ {
				if follows(text[j:], name[i+1:]) {
					return true
				}
			}
			return false
		case '#':
			if text == "" || text[0] < '0' || text[0] > '9' {
				return false
			}
		case '%':
			if text == "" || !strings.Contains("0123456789ABCDEF", text[:1]) {
				return false
			}
		default:
			if text == "" || text[0] != name[i] {
				return false
			}
		}
		text = text[1:]
	}
	return true
}

type index struct {
	cards []Card
	byID  map[string]int
	byPCI map[string][]int
}

var load = sync.OnceValue(func() index {
	x, err := parse(catalogue)
	if err != nil {
		panic("gpu: " + err.Error()) // the embedded data; a test parses it
	}
	return x
})

func parse(text string) (index, error) {
	x := index{byID: map[string]int{}, byPCI: map[string][]int{}}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	columns := strings.Split(lines[0], "\t")
	for n, line := range lines[1:] {
		cells := strings.Split(line, "\t")
		if len(cells) != len(columns) {
			return x, fmt.Errorf("line %d: %d cells, want %d", n+2, len(cells), len(columns))
		}
		var c Card
		for i, cell := range cells {
			if err := c.set(columns[i], cell); err != nil {
				return x, fmt.Errorf("line %d, %s: %w", n+2, columns[i], err)
			}
		}
		if _, twice := x.byID[c.ID]; twice {
			return x, fmt.Errorf("line %d: %s again", n+2, c.ID)
		}
		x.byID[c.ID] = len(x.cards)
		if c.Segment != CloudFree { // a service's card is found under its own name
			for _, p := range c.PCI {
				x.byPCI[p.ID] = append(x.byPCI[p.ID], len(x.cards))
			}
		}
		x.cards = append(x.cards, c)
	}
	return x, nil
}

func (c *Card) set(column, cell string) (err error) {
	integer := func(s string) (n int64) {
		if s != "" && err == nil {
			n, err = strconv.ParseInt(s, 10, 64)
		}
		return n
	}
	float := func(s string) (f float64) {
		if s != "" && err == nil {
			f, err = strconv.ParseFloat(s, 64)
		}
		return f
	}
	list := func() []string {
		if cell == "" {
			return nil
		}
		return strings.Split(cell, ";")
	}
	span := func() [2]float64 {
		low, high, two := strings.Cut(cell, "-")
		if !two {
			high = low
		}
		return [2]float64{float(low), float(high)}
	}
	switch column {
	case "id":
		c.ID = cell
	case "name":
		c.Name = cell
	case "vendor":
		c.Vendor = cell
	case "architecture":
		c.Architecture = cell
	case "segment":
		c.Segment = cell
	case "devices":
		c.Devices = int(integer(cell))
	case "vram_gib":
		for _, s := range list() {
			c.VRAMGiB = append(c.VRAMGiB, integer(s))
		}
	case "bandwidth_gbs":
		c.BandwidthGBs = float(cell)
	case "year":
		c.Year = int(integer(cell))
	case "webgpu_vendor":
		c.WebGPUVendor = cell
	case "webgpu_architecture":
		c.WebGPUArchitecture = cell
	case "match":
		c.match = newMatcher(cell)
	case "pci":
		for _, s := range list() {
			id, size, _ := strings.Cut(s, "=")
			c.PCI = append(c.PCI, PCI{id, integer(size)})
		}
	case "nvidia_smi_mib":
		c.SMIMiB = integer(cell)
	case "torch_linux_gib":
		c.TorchLinuxGiB = span()
	case "torch_windows_gib":
		c.TorchWindowsGiB = span()
	case "sources":
		c.Sources = list()
	default:
		return fmt.Errorf("unknown column")
	}
	return err
}

// Cards lists the catalogue in its own order. The slice is the caller's; the
// lists inside its cards are shared and must not be changed.
func Cards() []Card {
	return append([]Card(nil), load().cards...)
}

// ByID returns a card by its id, such as "tesla-t4".
func ByID(id string) (Card, bool) {
	x := load()
	i, ok := x.byID[id]
	if !ok {
		return Card{}, false
	}
	return x.cards[i], true
}
