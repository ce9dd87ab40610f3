package view

import (
	"math"
	"strings"
	"testing"

	"vrametre/content"
)

// plain shows the special spaces: ~ is U+202F, _ is U+00A0.
func plain(s string) string {
	return strings.NewReplacer(narrowNoBreakSpace, "~", noBreakSpace, "_").Replace(s)
}

func TestCount(t *testing.T) {
	for _, c := range []struct {
		n      int64
		fr, en string
	}{
		{0, "0", "0"},
		{999, "999", "999"},
		{1000, "1~000", "1,000"},
		{538981, "538~981", "538,981"},
		{1234567890, "1~234~567~890", "1,234,567,890"},
		{-1458, "−1~458", "−1,458"},
	} {
		if got := plain(Count(content.French, c.n)); got != c.fr {
			t.Errorf("Count(fr, %d) = %q, want %q", c.n, got, c.fr)
		}
		if got := plain(Count(content.English, c.n)); got != c.en {
			t.Errorf("Count(en, %d) = %q, want %q", c.n, got, c.en)
		}
	}
}

func TestDecimal(t *testing.T) {
	for _, c := range []struct {
		n      float64
		fr, en string
	}{
		{0.9, "0,9", "0.9"},
		{-1, "−1", "−1"},
		{-0.5, "−0,5", "−0.5"},
		{1e6, "1~000~000", "1,000,000"},
		{1e300, "1e+300", "1e+300"},
	} {
		if got := plain(decimal(content.French, c.n)); got != c.fr {
			t.Errorf("decimal(fr, %g) = %q, want %q", c.n, got, c.fr)
		}
		if got := plain(decimal(content.English, c.n)); got != c.en {
			t.Errorf("decimal(en, %g) = %q, want %q", c.n, got, c.en)
		}
	}
}

// The largest number is not turned over.
func TestBinaryOfTheLargest(t *testing.T) {
	if got := plain(Binary(content.French, math.MaxInt64)); got != "8~388~608~Tio" {
		t.Errorf("%q", got)
	}
}

// Each rounding edge of Bytes and the number just below it.
func TestBytes(t *testing.T) {
	for _, c := range []struct {
		n      int64
		fr, en string
	}{
		{0, "0~o", "0_B"},
		{148, "148~o", "148_B"},
		{999, "999~o", "999_B"},
		{1000, "1,00~ko", "1.00_kB"},
		{9994, "9,99~ko", "9.99_kB"},
		{9995, "10,0~ko", "10.0_kB"},
		{99949, "99,9~ko", "99.9_kB"},
		{99950, "100~ko", "100_kB"},
		{196608, "197~ko", "197_kB"},
		{999499, "999~ko", "999_kB"},
		{999500, "1,00~Mo", "1.00_MB"},
		{3671040, "3,67~Mo", "3.67_MB"},
		{8623696, "8,62~Mo", "8.62_MB"},
		{9994999, "9,99~Mo", "9.99_MB"},
		{9995000, "10,0~Mo", "10.0_MB"},
		{50331648, "50,3~Mo", "50.3_MB"},
		{99949999, "99,9~Mo", "99.9_MB"},
		{99950000, "100~Mo", "100_MB"},
		{117473280, "117~Mo", "117_MB"},
		{999500000, "1~000~Mo", "1,000_MB"},
		{1458000000, "1~458~Mo", "1,458_MB"},
		{9999499999, "9~999~Mo", "9,999_MB"},
		{9999500000, "10,0~Go", "10.0_GB"},
		{15634661376, "15,6~Go", "15.6_GB"},
		{999500000000, "1~000~Go", "1,000_GB"},
		{9999499999999, "9~999~Go", "9,999_GB"},
		{9999500000000, "10,0~To", "10.0_TB"},
		{-8623696, "−8,62~Mo", "−8.62_MB"},
	} {
		if got := plain(Bytes(content.French, c.n)); got != c.fr {
			t.Errorf("Bytes(fr, %d) = %q, want %q", c.n, got, c.fr)
		}
		if got := plain(Bytes(content.English, c.n)); got != c.en {
			t.Errorf("Bytes(en, %d) = %q, want %q", c.n, got, c.en)
		}
	}
}

func TestBinary(t *testing.T) {
	const mib, gib = int64(1) << 20, int64(1) << 30
	for _, c := range []struct {
		n    int64
		want string
	}{
		{1023, "1~023~o"},
		{1024, "1,00~Kio"},
		{mib - 513, "1~023~Kio"},
		{mib - 512, "1,00~Mio"},
		{128 * mib, "128~Mio"},
		{8623696, "8,22~Mio"},
		{1023*mib + mib/2 - 1, "1~023~Mio"},
		{1023*mib + mib/2, "1,00~Gio"},
		{4090881802, "3,81~Gio"},
		{15 * gib, "15,0~Gio"},
		{1024 * gib, "1,00~Tio"},
		{5000 * 1024 * gib, "5~000~Tio"},
		{-128 * mib, "−128~Mio"},
	} {
		if got := plain(Binary(content.French, c.n)); got != c.want {
			t.Errorf("Binary(fr, %d) = %q, want %q", c.n, got, c.want)
		}
	}
}

func TestExact(t *testing.T) {
	for _, c := range []struct {
		n      int64
		fr, en string
	}{
		{0, "0~octet", "0_bytes"},
		{1, "1~octet", "1_byte"},
		{2, "2~octets", "2_bytes"},
		{8623696, "8~623~696~octets", "8,623,696_bytes"},
	} {
		if got := plain(Exact(content.French, c.n)); got != c.fr {
			t.Errorf("Exact(fr, %d) = %q, want %q", c.n, got, c.fr)
		}
		if got := plain(Exact(content.English, c.n)); got != c.en {
			t.Errorf("Exact(en, %d) = %q, want %q", c.n, got, c.en)
		}
	}
}

func TestPercentAndRatio(t *testing.T) {
	for _, c := range []struct {
		part, whole int64
		fr, en      string
	}{
		{0, 100, "0~%", "0%"},
		{1, 0, "0~%", "0%"},
		{994, 10000, "9,9~%", "9.9%"},
		{995, 10000, "10~%", "10%"},
		{1, 3, "33~%", "33%"},
		{1, 1, "100~%", "100%"},
	} {
		if got := plain(Percent(content.French, c.part, c.whole)); got != c.fr {
			t.Errorf("Percent(fr, %d, %d) = %q, want %q", c.part, c.whole, got, c.fr)
		}
		if got := plain(Percent(content.English, c.part, c.whole)); got != c.en {
			t.Errorf("Percent(en, %d, %d) = %q, want %q", c.part, c.whole, got, c.en)
		}
	}
	if got := Ratio(content.French, 214012548, 117473280); got != "1,8" {
		t.Errorf("Ratio = %q, want 1,8", got)
	}
	if got := Ratio(content.English, 1, 0); got != "0" {
		t.Errorf("Ratio of nothing = %q, want 0", got)
	}
}

func TestShape(t *testing.T) {
	if got := plain(Shape([]int64{32, 128, 128})); got != "32~×~128~×~128" {
		t.Errorf("Shape = %q", got)
	}
}

func TestText(t *testing.T) {
	if got := plain(Text(content.French, "scrub.batch", Args{"n": int64(1)})); got != "1_image" {
		t.Errorf("one image: %q", got)
	}
	if got := plain(Text(content.English, "scrub.batch", Args{"n": 1024})); got != "1,024_images" {
		t.Errorf("many images: %q", got)
	}
	if got := plain(Text(content.French, "tank.of", Args{"card": int64(4090881802)})); got != "au pic, sur 4,09~Go" {
		t.Errorf("formatted argument: %q", got)
	}
	if got := Text(content.French, "tank.of", nil); got != "au pic, sur {card}" {
		t.Errorf("missing argument: %q", got)
	}
}
