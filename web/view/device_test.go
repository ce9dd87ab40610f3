package view

import (
	"strings"
	"testing"

	"vrametre/calc"
	"vrametre/calc/gpu"
	"vrametre/content"
)

func devices() []Device {
	apple := Device{}.WithGPU("apple-m1").WithSize(16)
	list := []Device{
		Device{}.WithGPU("gtx-1650"),
		Device{}.WithGPU("rtx-3060").WithSize(8).WithSystem(gpu.Windows).WithDesktop(true),
		Device{}.WithGPU("rtx-3060").WithSize(12),
		Device{}.WithGPU("tesla-t4").WithECC(ECCOff),
		Device{}.WithGPU("tesla-t4").WithSystem(gpu.WSL).WithGiven(GivenDesktop, Give(700<<20)).WithGiven(GivenContext, Give(0)),
		Device{}.WithGPU("rtx-4090").WithGiven(GivenTotal, Give(24_000_000_000)),
		Device{}.WithMemory("", 6_000_000_000),
		Device{}.WithMemory("radeon-780m", 8<<30).WithDesktop(true),
		Device{}.WithMemory("", 1),
		Device{}.WithGPU("apple-m2").WithDesktop(true),
		Device{}.WithGPU("rtx-3060").WithSize(8).WithGiven(GivenDriver, Give(500<<20)).WithGiven(GivenLibraries, Give(0)).WithGiven(GivenFragmentation, Give(1<<30)),
		Device{}.WithGPU("apple-m1").WithGiven(GivenDriver, Give(1<<40)),
		apple,
	}
	for _, card := range gpu.Cards() {
		for _, size := range card.VRAMGiB {
			list = append(list, Device{}.WithGPU(card.ID).WithSize(size))
		}
	}
	return list
}

func TestDeviceRoundTrip(t *testing.T) {
	for _, d := range devices() {
		if got := ParseKept(Default().Device, d.Kept()); got != d {
			t.Errorf("%s is read as %+v, want %+v", d.Kept(), got, d)
		}
	}
}

// The budget that the page shows is the one that the answer is computed with.
func TestDeviceBudgetIsCalcs(t *testing.T) {
	for _, d := range devices() {
		result, err := calc.Estimate(calc.Request{Device: d.Request()})
		if err != nil {
			t.Errorf("%+v: %v", d, err)
			continue
		}
		b := d.Budget()
		if result.Budget.Total != b.Total || result.Budget.Usable != b.Usable {
			t.Errorf("%+v: calc has %d of %d, the page %d of %d", d, result.Budget.Usable, result.Budget.Total, b.Usable, b.Total)
		}
		var sum int64
		for _, line := range b.Lines {
			if !line.DisplayOnly {
				sum += line.Bytes
			}
			for _, lang := range content.Langs {
				if !Has(lang, "budget."+line.ID) || !Has(lang, "source."+line.Source) {
					t.Errorf("%s: no words for %+v", lang, line)
				}
			}
		}
		if sum != b.Usable {
			t.Errorf("%+v: the lines sum to %d, usable is %d", d, sum, b.Usable)
		}
	}
}

func TestDeviceRefuses(t *testing.T) {
	d := Device{}.WithGPU("rtx-3060")
	for name, changed := range map[string]Device{
		"an unknown card":                d.WithGPU("nonsense"),
		"a card without memory":          d.WithGPU("radeon-780m"),
		"an unknown card's memory":       d.WithMemory("nonsense", 1<<33),
		"a size it is not sold with":     d.WithSize(5),
		"an unknown system":              d.WithSystem("beos"),
		"ECC where there is none":        d.WithECC(ECCOn),
		"another size":                   d.WithGiven("box", Give(1<<33)),
		"the first size":                 d.WithSize(12),
		"a driver that is not given":     d.WithGiven(GivenDriver, Given{}),
		"taking back what was not given": d.WithGiven(GivenTotal, Given{}),
	} {
		if changed != d {
			t.Errorf("%s gives %+v", name, changed)
		}
	}
	own := Device{}.WithMemory("", 8<<30)
	if got := own.WithGiven(GivenTotal, Given{}); got != own {
		t.Errorf("the only thing known is forgotten: %+v", got)
	}
	if got := own.WithGiven(GivenDriver, Give(5)); got != own {
		t.Errorf("a driver keeps something of no box: %+v", got)
	}
	if got := own.WithGiven(GivenTotal, Give(-5)).Total.Bytes; got != minTotal {
		t.Errorf("total %d", got)
	}
	// The total, and what the driver keeps of the box, are two ways to say one thing.
	if got := d.WithGiven(GivenTotal, Give(9<<30)).WithGiven(GivenDriver, Give(1<<30)); got.Total.Known || got.Budget().Total != 11<<30 {
		t.Errorf("the driver's share: %+v", got)
	}
	if got := d.WithGiven(GivenDriver, Give(1<<30)).WithGiven(GivenTotal, Give(9<<30)); got.Driver.Known || got.Budget().Total != 9<<30 {
		t.Errorf("the total: %+v", got)
	}
	if got := d.WithDesktop(true).WithGiven(GivenDriver, Give(1)).WithGiven(GivenContext, Give(2)).WithGiven(GivenDesktop, Give(3)).
		WithGiven(GivenLibraries, Give(4)).WithGiven(GivenFragmentation, Give(5)).Restored(); got != d.WithDesktop(true) {
		t.Errorf("what was given is not taken back: %+v", got)
	}
}

// An address that names no card of the catalogue says so, until a card is chosen.
func TestUnknownDevice(t *testing.T) {
	d := ParseKept(Default().Device, "&gpu=rtx+3060+mega&os=windows")
	if d.Unknown != "rtx 3060 mega" || d.GPU != Default().Device.GPU || d.OS != gpu.Windows {
		t.Errorf("read as %+v", d)
	}
	if again := ParseKept(Default().Device, d.Kept()); again != d {
		t.Errorf("then as %+v", again)
	}
	if got := d.WithGPU("rtx-3060"); got.Unknown != "" {
		t.Errorf("still unknown: %+v", got)
	}
	for _, lang := range content.Langs {
		if got := d.UnknownText(lang); !strings.Contains(got, "rtx 3060 mega") || !strings.Contains(got, "GTX 1650") {
			t.Errorf("%s: %q", lang, got)
		}
	}
	for _, total := range []string{"", "&total=", "&total=1e999", "&total=abc", "&total=1,5+Gio"} { // another card without its memory
		d := ParseKept(Default().Device, "&gpu=other"+total)
		if again := ParseKept(Default().Device, d.Kept()); d.Unknown != "other" || d.GPU != Default().Device.GPU || again != d {
			t.Errorf("%q: %+v, then %+v", total, d, again)
		}
	}
	if got := Default().Device.UnknownText(content.French); got != "" {
		t.Errorf("a known card says %q", got)
	}
}

func TestDeviceName(t *testing.T) {
	for _, c := range []struct {
		device Device
		want   string
	}{
		{Device{}.WithGPU("gtx-1650"), "GeForce GTX 1650"},
		{Device{}.WithGPU("rtx-3060"), "GeForce RTX 3060, 12~GB"},
		{Device{}.WithGPU("rtx-3060").WithSize(8), "GeForce RTX 3060, 8~GB"},
		{Device{}.WithGPU("rtx-3060").WithGiven(GivenTotal, Give(9<<30)), "GeForce RTX 3060"},
		{Device{}.WithMemory("", 6_000_000_000), "card of 6.00~GB"},
	} {
		if got := strings.ReplaceAll(c.device.Name(content.English), "\u00a0", "~"); got != c.want {
			t.Errorf("%+v is called %q, want %q", c.device, got, c.want)
		}
	}
	if got := (Device{}.WithGPU("rtx-3060").WithSize(8)).Choice(); got != ChoiceOwn {
		t.Errorf("choice %s", got)
	}
	if got := (Device{}.WithGPU("rtx-3060").WithDesktop(true)).Choice(); got != "rtx-3060" {
		t.Errorf("choice %s", got)
	}
}

func FuzzParseDevice(f *testing.F) {
	for _, d := range devices()[:10] {
		f.Add(d.Kept())
	}
	f.Add("&gpu=%80+x&drv=9999999999999&mem=8&lib=-3&frag=99999999999")
	f.Add("&gpu=other&total=-9&ctx=99999999999999999&desk=-1&mem=0&ecc=on&os=x")
	f.Fuzz(func(t *testing.T, fragment string) {
		d := ParseKept(Default().Device, fragment)
		if b := d.Budget(); b.Total <= 0 {
			t.Errorf("%q: %+v", fragment, b)
		}
		if again := ParseKept(Default().Device, d.Kept()); again != d {
			t.Errorf("%q: %+v, then %+v", fragment, d, again)
		}
	})
}
