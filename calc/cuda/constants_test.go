package cuda

import (
	"slices"
	"testing"
)

func TestCublasWorkspace(t *testing.T) {
	for _, c := range []struct {
		major, minor         int
		vendor, architecture string
		want                 int64
	}{
		{1, 13, "nvidia", "Ampere", 0},
		{2, 0, "nvidia", "Ampere", 8519680},
		{2, 11, "nvidia", "Turing", 8519680},
		{2, 6, "nvidia", "Hopper", 32 * mib},
		{2, 11, "nvidia", "Blackwell", 8519680},
		{2, 12, "nvidia", "Blackwell", 32 * mib},
		{3, 0, "nvidia", "Blackwell", 32 * mib},
		{2, 11, "nvidia", "", 8519680},
		{2, 11, "amd", "CDNA 3", 128 * mib},
		{2, 11, "amd", "RDNA 3", 32 * mib},
		{2, 11, "apple", "M1", 0},
	} {
		got := CublasWorkspace(c.major, c.minor, c.vendor, c.architecture)
		if got.Bytes != c.want || got.Bytes < got.Low || got.Bytes > got.High || !slices.Contains(Sources(), got.Source) {
			t.Errorf("%+v: got %+v", c, got)
		}
	}
}

func TestContext(t *testing.T) {
	for _, c := range []struct {
		major, minor         int
		vendor, architecture string
		want                 int64
	}{
		{1, 8, "nvidia", "Ampere", 1687 * mib},
		{1, 12, "nvidia", "Pascal", 721 * mib},
		{1, 3, "nvidia", "Turing", 1007 * mib},
		{1, 13, "nvidia", "Ampere", 483183820},
		{2, 11, "nvidia", "Turing", 483183820},
		{2, 11, "amd", "RDNA 3", 483183820},
		{2, 11, "apple", "M2", 0},
	} {
		got := Context(c.major, c.minor, c.vendor, c.architecture)
		if got.Bytes != c.want || got.Bytes < got.Low || got.Bytes > got.High || !slices.Contains(Sources(), got.Source) {
			t.Errorf("%+v: got %+v", c, got)
		}
	}
	// The range holds every measurement of its kind.
	for _, m := range ContextMeasurements() {
		minor := 8
		if !m.Eager {
			minor = 13
		}
		c := Context(1, minor, "nvidia", "")
		if m.Bytes < c.Low || m.Bytes > c.High {
			t.Errorf("%+v outside %+v", m, c)
		}
	}
}
