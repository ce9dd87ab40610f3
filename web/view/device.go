package view

import (
	"slices"
	"strconv"
	"strings"

	"vrametre/calc"
	"vrametre/calc/gpu"
	"vrametre/content"
)

// Device is the reader's card and how it is used, as far as the reader says
// so; the rest is the catalogue's. It is comparable, and part of the permalink.
type Device struct {
	// GPU is the catalogue id; "" where only the memory is known: Total is given then.
	GPU string
	// SizeGiB chooses among the sizes sold under the card's name; 0: the first.
	SizeGiB int64
	// ECC is ECCOn or ECCOff where the reader says so, for cards that let choose.
	ECC string
	// OS is one of Systems; "" is the first.
	OS string
	// Desktop says that windows and a browser draw on this card.
	Desktop bool
	// Total replaces what PyTorch reports as the card's capacity, Driver what
	// lies between the box and it (never both), Context the CUDA context,
	// DesktopUse what the desktop takes, Libraries and Fragmentation the lines
	// that are shown and not counted.
	Total, Driver, Context, DesktopUse, Libraries, Fragmentation Given
	// Unknown is the card that an address names and the catalogue does not know.
	Unknown string
}

// Given is a size that the reader may give, in bytes.
type Given struct {
	Known bool
	Bytes int64
}

// Give is a size that is known.
func Give(bytes int64) Given { return Given{true, bytes} }

// Values of Device.ECC.
const (
	ECCOn  = "on"
	ECCOff = "off"
)

// Systems are the operating systems of a training, the usual one first.
var Systems = []string{gpu.Linux, gpu.Windows, gpu.WSL}

// Bounds of what the reader may give, in bytes.
const (
	minTotal  = 256 << 20
	maxTotal  = 4 << 40
	maxBeside = 64 << 30
)

// Card is the catalogue's card; the zero Card where only the memory is known.
func (d Device) Card() gpu.Card {
	card, _ := gpu.ByID(d.GPU)
	return card
}

// WithGPU chooses a card of the catalogue. What was said of the card before is
// forgotten, what was said of the computer kept. A card that is not in the
// catalogue, or has no memory of its own, changes nothing: see WithMemory.
func (d Device) WithGPU(id string) Device {
	card, ok := gpu.ByID(id)
	if !ok || len(card.VRAMGiB) == 0 {
		return d
	}
	return Device{GPU: id, OS: d.OS, Desktop: d.Desktop, DesktopUse: d.DesktopUse}
}

// WithDesktop says whether a desktop draws on the card.
func (d Device) WithDesktop(on bool) Device {
	d.Desktop, d.DesktopUse = on, Given{}
	return d
}

// WithMemory chooses a card by the memory that PyTorch reports for it; id is
// a card of the catalogue, or "".
func (d Device) WithMemory(id string, bytes int64) Device {
	if _, ok := gpu.ByID(id); !ok && id != "" {
		return d
	}
	return Device{GPU: id, OS: d.OS, Desktop: d.Desktop, DesktopUse: d.DesktopUse, Total: Give(min(max(bytes, minTotal), maxTotal))}
}

// WithSize chooses among the card's sizes; one that it is not sold with changes nothing.
func (d Device) WithSize(gib int64) Device {
	sizes := d.Card().VRAMGiB
	if !slices.Contains(sizes, gib) {
		return d
	}
	d.Total, d.Driver = Given{}, Given{}
	if d.SizeGiB = gib; gib == sizes[0] {
		d.SizeGiB = 0
	}
	return d
}

// WithSystem chooses the operating system.
func (d Device) WithSystem(os string) Device {
	if slices.Contains(Systems, os) {
		if d.OS = os; os == Systems[0] {
			d.OS = ""
		}
	}
	return d
}

// WithECC says whether error correction is on: ECCOn, ECCOff or "". Most cards do not let choose.
func (d Device) WithECC(ecc string) Device {
	card := d.Card()
	if card.HasECC() && (ecc == "" || ecc == ECCOn || ecc == ECCOff) {
		d.ECC, d.Total, d.Driver = ecc, Given{}, Given{}
	}
	return d
}

// Names of the sizes that the reader may give.
const (
	GivenTotal         = "total"
	GivenDriver        = "driver"
	GivenContext       = "context"
	GivenDesktop       = "desktop"
	GivenLibraries     = "libraries"
	GivenFragmentation = "fragmentation"
)

// WithGiven gives a size, brought into bounds; one that is not Known takes it back.
func (d Device) WithGiven(name string, g Given) Device {
	low, high := int64(0), int64(maxBeside)
	switch name {
	case GivenTotal:
		low, high = minTotal, maxTotal
	case GivenDriver:
		if len(d.Card().VRAMGiB) == 0 {
			return d // there is no box to keep something of
		}
		high = d.Size()<<30/16*15 - minTotal // with error correction too
	}
	if g.Known {
		g.Bytes = min(max(g.Bytes, low), high)
	} else {
		g = Given{}
	}
	switch name {
	case GivenTotal:
		if !g.Known && len(d.Card().VRAMGiB) == 0 {
			return d // nothing else is known of this card
		}
		if d.Total = g; g.Known {
			d.SizeGiB, d.ECC, d.Driver = 0, "", Given{} // the total holds them
		}
	case GivenDriver:
		if d.Driver = g; g.Known {
			d.Total = Given{}
		}
	case GivenContext:
		d.Context = g
	case GivenDesktop:
		d.Desktop, d.DesktopUse = d.Desktop || g.Known, g
	case GivenLibraries:
		d.Libraries = g
	case GivenFragmentation:
		d.Fragmentation = g
	}
	return d
}

// Restored takes back what was given in place of the catalogue's figures.
func (d Device) Restored() Device {
	return d.WithECC("").WithGiven(GivenTotal, Given{}).WithGiven(GivenDriver, Given{}).WithGiven(GivenContext, Given{}).
		WithDesktop(d.Desktop).WithGiven(GivenLibraries, Given{}).WithGiven(GivenFragmentation, Given{})
}

// Size is the memory sold, in GiB; 0: unknown.
func (d Device) Size() int64 {
	if sizes := d.Card().VRAMGiB; d.SizeGiB == 0 && len(sizes) > 0 {
		return sizes[0]
	}
	return d.SizeGiB
}

// Name names the card, with its memory where the name leaves it open.
func (d Device) Name(lang content.Lang) string {
	card := d.Card()
	switch {
	case d.GPU == "":
		return Text(lang, "gpu.other", Args{"bytes": d.Total.Bytes})
	case len(card.VRAMGiB) > 1 && !d.Total.Known:
		return Text(lang, "gpu.sized", Args{"name": card.Name, "n": d.Size()})
	}
	return card.Name
}

// UnknownText says that an address names a card that the catalogue does not
// know, and which one stands in; "" where it does not.
func (d Device) UnknownText(lang content.Lang) string {
	if d.Unknown == "" {
		return ""
	}
	return Text(lang, "gpu.unknown", Args{"gpu": d.Unknown, "name": d.Name(lang)})
}

// ChoiceOwn is the choice of a list of Cards that none of them is.
const ChoiceOwn = "own"

// Choice is what a list of Cards shows: the card's id where it is one of them
// and nothing else is said of it, else ChoiceOwn.
func (d Device) Choice() string {
	if slices.Contains(Cards, d.GPU) && d.SizeGiB == 0 && d.ECC == "" && !d.Total.Known && !d.Driver.Known {
		return d.GPU
	}
	return ChoiceOwn
}

// options ask gpu for the device's budget under the page's PyTorch.
func (d Device) options() gpu.Options {
	o := gpu.Options{OS: d.OS, Desktop: d.Desktop, SizeGiB: d.SizeGiB}
	if d.ECC != "" {
		on := d.ECC == ECCOn
		o.ECC = &on
	}
	for _, g := range []struct {
		own    *Given
		option **int64
	}{{&d.Total, &o.TotalBytes}, {&d.Driver, &o.DriverBytes}, {&d.Context, &o.ContextBytes}, {&d.DesktopUse, &o.DesktopBytes},
		{&d.Libraries, &o.LibrariesBytes}, {&d.Fragmentation, &o.FragmentationBytes}} {
		if g.own.Known {
			*g.option = &g.own.Bytes
		}
	}
	major, minor, _ := strings.Cut(calc.DefaultPyTorch, ".")
	o.PyTorchMajor, _ = strconv.Atoi(major)
	o.PyTorchMinor, _ = strconv.Atoi(minor)
	return o
}

// Budget is what the card offers, line by line.
func (d Device) Budget() gpu.Budget {
	b, err := gpu.BudgetOf(d.Card(), d.options())
	if err != nil {
		// Every way to make a Device keeps to the catalogue and the bounds.
		panic(err)
	}
	return b
}

// Request asks calc for this device. What the contract has no word for (a size
// among several, a desktop of a given size) is folded into the totals it has words for.
func (d Device) Request() calc.Device {
	r := calc.Device{GPU: d.GPU, OS: d.OS, Desktop: d.Desktop}
	if d.Total.Known || d.Driver.Known || d.SizeGiB != 0 || d.ECC != "" {
		total := d.Budget().Total
		r.TotalBytes = &total
	}
	switch {
	case d.DesktopUse.Known:
		b := d.Budget()
		beside := b.Context + b.Desktop
		r.ContextBytes, r.Desktop = &beside, false
	case d.Context.Known:
		r.ContextBytes = &d.Context.Bytes
	}
	return r
}

// otherGPU stands in the address for a card that is known by its memory only.
const otherGPU = "other"

// desktopUsual stands in the address for a desktop of the usual size.
const desktopUsual = "yes"

// Kept writes a device as it is remembered, and ParseKept reads it over a default.
func (d Device) Kept() string { return d.fragment() }

// ParseKept reads what Kept wrote; what it does not know changes nothing.
func ParseKept(d Device, kept string) Device {
	pairs := map[string]string{}
	for pair := range strings.SplitSeq(kept, "&") {
		if key, value, ok := strings.Cut(pair, "="); ok {
			pairs[key] = value
		}
	}
	return parseDevice(d, pairs)
}

// fragment writes the device as keys of the address.
func (d Device) fragment() string {
	id := d.GPU
	switch {
	case d.Unknown != "":
		id = escape(d.Unknown)
	case id == "":
		id = otherGPU
	}
	out := "&gpu=" + id
	add := func(key, value string, written bool) {
		if written {
			out += "&" + key + "=" + value
		}
	}
	size := func(g Given) string { return strconv.FormatInt(g.Bytes, 10) }
	add("mem", strconv.FormatInt(d.SizeGiB, 10), d.SizeGiB != 0)
	add("ecc", d.ECC, d.ECC != "")
	add("os", d.OS, d.OS != "")
	add("desk", desktopUsual, d.Desktop && !d.DesktopUse.Known)
	add("desk", size(d.DesktopUse), d.DesktopUse.Known)
	add("total", size(d.Total), d.Total.Known)
	add("drv", size(d.Driver), d.Driver.Known)
	add("ctx", size(d.Context), d.Context.Known)
	add("lib", size(d.Libraries), d.Libraries.Known)
	add("frag", size(d.Fragmentation), d.Fragmentation.Known)
	return out
}

// parseDevice reads the keys of an address, over a default.
func parseDevice(d Device, pairs map[string]string) Device {
	number := func(key string) Given {
		n, err := strconv.ParseInt(pairs[key], 10, 64)
		return Given{err == nil, n}
	}
	name, named := pairs["gpu"]
	id, total := clip(unescape(name)), number("total")
	_, known := gpu.ByID(id)
	unknown := ""
	if !known && (id != otherGPU || !total.Known) { // "other" without its memory is no card
		unknown = id
	}
	if !known {
		id = ""
	}
	switch {
	case named && total.Known:
		d = d.WithMemory(id, total.Bytes)
	case named:
		d = d.WithGPU(id)
	}
	d.Unknown = unknown
	if n := number("mem"); n.Known && !total.Known {
		d = d.WithSize(n.Bytes)
	}
	if ecc, ok := pairs["ecc"]; ok && !total.Known {
		d = d.WithECC(ecc)
	}
	d = d.WithSystem(pairs["os"])
	for key, name := range map[string]string{"drv": GivenDriver, "ctx": GivenContext, "lib": GivenLibraries, "frag": GivenFragmentation} {
		if n := number(key); n.Known && (name != GivenDriver || !total.Known) {
			d = d.WithGiven(name, n)
		}
	}
	if desk := pairs["desk"]; desk == desktopUsual {
		d = d.WithDesktop(true)
	} else if n := number("desk"); n.Known {
		d = d.WithGiven(GivenDesktop, n)
	}
	return d
}
