package gpu

import (
	"errors"
	"fmt"
	"slices"

	"vrametre/calc/cuda"
)

// Operating systems of Options.
const (
	Linux   = "linux"
	Windows = "windows"
	WSL     = "wsl"
)

// Options say how a card is used.
type Options struct {
	// OS is Linux (default), Windows or WSL. Apple cards ignore it.
	OS string
	// Desktop says that a desktop session draws on this card.
	Desktop bool
	// SizeGiB chooses among the card's sizes; 0: the first.
	SizeGiB int64
	// ECC overrides what the card's figures contain, for GDDR6 with optional ECC.
	ECC *bool
	// PyTorchMajor and PyTorchMinor choose the CUDA context's default; 0.0: the newest.
	PyTorchMajor, PyTorchMinor int
	// TotalBytes overrides the total, DriverBytes what lies between the box and the total, ContextBytes the CUDA
	// context, DesktopBytes the desktop, which is then there, LibrariesBytes and FragmentationBytes their lines.
	TotalBytes, DriverBytes, ContextBytes, DesktopBytes, LibrariesBytes, FragmentationBytes *int64
}

// Line ids of Budget, in their order.
const (
	LineBox           = "box"           // the figure on the box
	LineECC           = "ecc"           // kept for error correction: 1/16 of GDDR6
	LineDriver        = "driver"        // never shown to programs
	LineSystem        = "system"        // unified memory that Metal does not hand to the GPU
	LineGiven         = "given"         // the total that the reader gave
	LineContext       = "context"       // the CUDA context
	LineDesktop       = "desktop"       // windows and browser on the same card
	LineLibraries     = "libraries"     // cuBLAS's workspace; for display only: the simulation allocates it
	LineFragmentation = "fragmentation" // for display only: the simulation contains its own
)

// Line takes (negative) or gives (positive) bytes.
type Line struct {
	ID     string `json:"id"`
	Bytes  int64  `json:"bytes"`
	Source string `json:"source"`
	// DisplayOnly marks a line that is no part of Usable.
	DisplayOnly bool `json:"display_only,omitzero"`
}

// Budget is what a card offers, from the box's figure on. The lines that are
// not DisplayOnly sum to Usable, and those before LineContext to Total.
type Budget struct {
	// Total is what PyTorch reports as the card's capacity, between TotalLow and TotalHigh.
	Total, TotalLow, TotalHigh int64
	// Context and Desktop are what others take of it, positive.
	Context, Desktop int64
	// Usable is Total - Context - Desktop: the capacity of the allocator's
	// segments. It is negative when they exceed the card.
	Usable int64
	// Libraries and Fragmentation are what the simulation finds by itself, for a reader who wants to see the whole way.
	Libraries, Fragmentation int64
	Lines                    []Line
	// Notes are codes of what the reader should know.
	Notes []string
}

// Codes of Budget.Notes.
const (
	NoteSpill    = "wddm-spills"   // Windows moves what does not fit to system memory: slow, no error
	NoteUnified  = "unified"       // one memory for processor and GPU
	NoteECC      = "ecc-on"        // the figures are those with ECC
	NoteSizes    = "several-sizes" // the first size was taken
	NoteDevices  = "per-device"    // several devices: the figures are those of one
	NoteInferred = "inferred"      // no figure was seen for this card
)

// Source codes of Line, beside those of package cuda.
const (
	SourceBox         = "catalogue"          // the catalogue's sources of this card
	SourceSeen        = "torch-total-seen"   // totals in PyTorch's own messages
	SourceSMI         = "nvidia-smi"         // nvidia-smi's total
	SourceSibling     = "sibling-card"       // share kept by a card of the same family
	SourceFormula     = "linux-formula"      // GiB - (0.10 + 0.0105 GiB), within 0.13 GiB from 8 to 48 GiB
	SourceAMD         = "amd-total-seen"     // 255.98 of 256 GiB, 287.98 of 288
	SourceWDDM        = "windows-full-total" // consumer cards under Windows report the full figure
	SourceMetal       = "metal-working-set"  // Metal's recommended working set, seen and by thirds and quarters
	SourceGiven       = "given"              // the reader's own figure
	SourceDesktop     = "desktop-use"        // 240 to 860 MiB seen under Linux, 600 to 1500 under Windows, 2000 in WSL
	SourceDesktopMac  = "desktop-as-linux"   // nothing seen for macOS
	SourceFragmenting = "display-allowance"  // 4 %
)

// Sources lists every source code that a Line can carry.
func Sources() []string {
	return append([]string{SourceBox, SourceSeen, SourceSMI, SourceSibling, SourceFormula, SourceAMD, SourceWDDM, SourceMetal, SourceGiven, SourceDesktop, SourceDesktopMac, SourceFragmenting}, cuda.Sources()...)
}

// Codes lists the codes of Budget and Match, by what they are, for whoever
// holds the words; Sources lists those of Line.Source.
func Codes() map[string][]string {
	return map[string][]string{
		"line":    {LineBox, LineECC, LineDriver, LineSystem, LineGiven, LineContext, LineDesktop, LineLibraries, LineFragmentation},
		"note":    {NoteSpill, NoteUnified, NoteECC, NoteSizes, NoteDevices, NoteInferred},
		"segment": {Desktop, Laptop, Workstation, Datacenter, SoC, CloudFree},
		"match":   {KindCard, KindVendor, KindMasked, KindSoftware, KindUnknown},
	}
}

// ErrNoSize says that the card has no memory of its own and that no total was given.
var ErrNoSize = errors.New("gpu: this card uses the system's memory; give the total")

// BudgetOf works out what a program can use of a card. The zero Card stands
// for one that is not in the catalogue and needs Options.TotalBytes.
func BudgetOf(c Card, o Options) (Budget, error) {
	var b Budget
	switch {
	case o.OS != "" && o.OS != Linux && o.OS != Windows && o.OS != WSL:
		return b, fmt.Errorf("gpu: unknown os %q; use linux, windows or wsl", o.OS)
	case slices.ContainsFunc([]*int64{o.TotalBytes, o.DriverBytes, o.ContextBytes, o.DesktopBytes, o.LibrariesBytes, o.FragmentationBytes}, negative):
		return b, errors.New("gpu: sizes must not be negative")
	}
	if err := b.setTotal(c, o); err != nil {
		return Budget{}, err
	}
	if b.Total < 0 {
		return Budget{}, errors.New("gpu: the driver cannot keep more than the card has")
	}
	vendor := c.Vendor
	if vendor == "" {
		vendor = "nvidia"
	}
	major, minor := o.PyTorchMajor, o.PyTorchMinor
	if major == 0 && minor == 0 {
		major = 3
	}
	given := func(own *int64, bytes int64, source string) (int64, string) {
		if own != nil {
			return *own, SourceGiven
		}
		return bytes, source
	}
	context, libraries := cuda.Context(major, minor, vendor, c.Architecture), cuda.CublasWorkspace(major, minor, vendor, c.Architecture)
	bytes, source := given(o.ContextBytes, context.Bytes, context.Source)
	b.Context = bytes
	b.line(LineContext, -bytes, source)
	if o.Desktop || o.DesktopBytes != nil {
		bytes, source = desktopUse(c.Vendor, o.OS)
		bytes, source = given(o.DesktopBytes, bytes, source)
		b.Desktop = bytes
		b.line(LineDesktop, -bytes, source)
	}
	b.Usable = b.Total - b.Context - b.Desktop
	b.Libraries, source = given(o.LibrariesBytes, libraries.Bytes, libraries.Source)
	b.shown(LineLibraries, b.Libraries, source)
	b.Fragmentation, source = given(o.FragmentationBytes, max(b.Usable, 0)*4/100, SourceFragmenting)
	b.shown(LineFragmentation, b.Fragmentation, source)
	if o.OS == Windows && c.Vendor == "nvidia" && c.Segment != Datacenter {
		b.Notes = append(b.Notes, NoteSpill)
	}
	if c.Segment == SoC {
		b.Notes = append(b.Notes, NoteUnified)
	}
	if len(c.VRAMGiB) > 1 && o.SizeGiB == 0 && o.TotalBytes == nil {
		b.Notes = append(b.Notes, NoteSizes)
	}
	if c.Devices > 1 {
		b.Notes = append(b.Notes, NoteDevices)
	}
	return b, nil
}

func negative(n *int64) bool { return n != nil && *n < 0 }

// desktopUse is what windows and a browser take. Metal draws them from the same working set.
func desktopUse(vendor, os string) (bytes int64, source string) {
	const linux = 3 << 30 / 10
	switch {
	case vendor == "apple":
		return linux, SourceDesktopMac
	case os == Windows:
		return 1 << 30, SourceDesktop
	case os == WSL:
		return 2000 << 20, SourceDesktop
	default:
		return linux, SourceDesktop
	}
}

// line adds a line that says something: one of no bytes only where they are the reader's.
func (b *Budget) line(id string, bytes int64, source string) {
	if bytes != 0 || source == SourceGiven {
		b.Lines = append(b.Lines, Line{ID: id, Bytes: bytes, Source: source})
	}
}

// shown adds a line that is no part of Usable.
func (b *Budget) shown(id string, bytes int64, source string) {
	before := len(b.Lines)
	if b.line(id, -bytes, source); len(b.Lines) > before {
		b.Lines[before].DisplayOnly = true
	}
}

// Line finds a line by its id.
func (b *Budget) Line(id string) (Line, bool) {
	i := slices.IndexFunc(b.Lines, func(l Line) bool { return l.ID == id })
	if i < 0 {
		return Line{}, false
	}
	return b.Lines[i], true
}

// Left is what tensors get, as far as a budget can say before a training is simulated.
func (b *Budget) Left() int64 { return b.Usable - b.Libraries - b.Fragmentation }

func gib(n float64) int64 { return int64(n * (1 << 30)) }

// setTotal fills the lines from the box to the total.
func (b *Budget) setTotal(c Card, o Options) error {
	if o.TotalBytes != nil {
		b.Total, b.TotalLow, b.TotalHigh = *o.TotalBytes, *o.TotalBytes, *o.TotalBytes
		b.line(LineGiven, b.Total, SourceGiven)
		return nil
	}
	if len(c.VRAMGiB) == 0 {
		return ErrNoSize
	}
	size := c.VRAMGiB[0]
	if o.SizeGiB != 0 {
		if !slices.Contains(c.VRAMGiB, o.SizeGiB) {
			return fmt.Errorf("gpu: %s has no %d GiB version; it has %v", c.ID, o.SizeGiB, c.VRAMGiB)
		}
		size = o.SizeGiB
	}
	box := size << 30
	b.line(LineBox, box, SourceBox)
	if c.Vendor == "apple" {
		low, high := metal(size)
		b.total(low, high)
		b.kept(LineSystem, SourceMetal, o.DriverBytes)
		return nil
	}
	visible, source := c.visible(size)
	seen := c.TorchLinuxGiB
	if o.OS == Windows {
		seen = c.TorchWindowsGiB
	}
	if size != c.VRAMGiB[0] {
		seen = [2]float64{}
	}
	if seen[0] > 0 && (source == SourceSibling || gib(seen[0]) > visible) {
		visible, source = box, SourceSeen // the total itself was seen, with what lies between unknown
	}
	eccOn := visible <= box/16*15
	if o.ECC != nil && *o.ECC != eccOn && c.HasECC() {
		seen = [2]float64{}
		if eccOn = *o.ECC; eccOn {
			visible = visible / 16 * 15
		} else {
			visible = visible / 15 * 16
		}
	}
	if eccOn {
		b.line(LineECC, -(box / 16), source)
		b.Notes = append(b.Notes, NoteECC)
	}
	inferred := source == SourceSibling
	g := float64(visible) / (1 << 30)
	switch {
	case seen[0] > 0:
		b.total(gib(seen[0]), gib(seen[1]))
		source = SourceSeen
	case c.Vendor == "amd":
		b.total(visible-gib(0.02), visible)
		source = SourceAMD
	case c.Vendor == "intel":
		share := intelShare()
		b.total(int64(share*float64(visible)), visible)
		inferred = true
		source = SourceSibling
	case c.Segment == SoC:
		b.total(visible, visible)
	case o.OS == Windows && c.Segment != Datacenter:
		b.total(visible, visible)
		source = SourceWDDM
	default:
		// Seen for cards of 8 to 48 GiB, mostly within 0.05 GiB, within 0.13 for
		// all (GTX 1080 Ti above, RTX A4000 below). Hopper and Blackwell keep
		// less (79.19 of 79.65, 178.35 of 179.06): the range reaches up to them.
		const within = 0.13
		total := g - (0.10 + 0.0105*g)
		high := min(total+within, g)
		if g > 48 {
			high = g * 0.996
		}
		b.total(gib(total-within), gib(high))
		b.Total = gib(total)
		inferred = inferred || g < 8 || g > 48
		source = SourceFormula
	}
	if inferred && o.DriverBytes == nil {
		b.Notes = append(b.Notes, NoteInferred)
	}
	b.kept(LineDriver, source, o.DriverBytes)
	return nil
}

// kept adds the line between the box, with its ECC, and the total. It is there even where nothing is kept: Windows
// reports all of a consumer card.
func (b *Budget) kept(id, source string, given *int64) {
	rest := b.sum()
	if given != nil {
		b.total(rest-*given, rest-*given)
		source = SourceGiven
	}
	b.Lines = append(b.Lines, Line{ID: id, Bytes: b.Total - rest, Source: source})
}

// total takes the lower end: a verdict that holds for it holds for the range.
func (b *Budget) total(low, high int64) {
	b.Total, b.TotalLow, b.TotalHigh = low, low, high
}

func (b *Budget) sum() (n int64) {
	for _, l := range b.Lines {
		n += l.Bytes
	}
	return n
}

// visible is what nvidia-smi shows of a size: the card's own figure, else the
// share that the first card of the same architecture and segment keeps, else the whole.
func (c *Card) visible(size int64) (bytes int64, source string) {
	if c.SMIMiB > 0 && size == c.VRAMGiB[0] {
		return c.SMIMiB << 20, SourceSMI
	}
	if c.SMIMiB > 0 {
		return size << 20 * c.SMIMiB / c.VRAMGiB[0], SourceSMI
	}
	if c.Vendor == "nvidia" && c.Segment != SoC {
		alike := func(s string) string {
			if s == Laptop {
				return Desktop
			}
			return s
		}
		for _, s := range load().cards {
			if s.SMIMiB > 0 && s.Architecture == c.Architecture && alike(s.Segment) == alike(c.Segment) {
				return size << 20 * s.SMIMiB / s.VRAMGiB[0], SourceSibling
			}
		}
	}
	return size << 30, SourceBox
}

// HasECC says whether GDDR6 ECC can be switched on this card.
func (c *Card) HasECC() bool {
	return c.Vendor == "nvidia" && (c.Segment == Workstation || c.Segment == Datacenter && c.Architecture != "Hopper")
}

// intelShare is what the one Arc card seen leaves to programs.
func intelShare() float64 {
	a770, _ := ByID("arc-a770")
	return a770.TorchLinuxGiB[0] / float64(a770.VRAMGiB[0])
}

// metal is the working set that Metal recommends of unified memory: seen
// figures, else two thirds up to 16 GiB and three quarters above.
func metal(size int64) (low, high int64) {
	switch size {
	case 16:
		return gib(10.67), gib(11.84)
	case 24:
		return gib(17.76), gib(17.76)
	case 32:
		return gib(24.96), gib(24.96)
	case 36:
		return gib(28.08), gib(28.08)
	case 128:
		return gib(107.52), gib(107.52)
	}
	if size < 24 {
		return size << 30 / 3 * 2, size << 30 / 3 * 2
	}
	return size << 30 / 4 * 3, size << 30 / 4 * 3
}
