package build

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
)

// section is one section of a module.
func section(id byte, content ...[]byte) []byte {
	body := slices.Concat(content...)
	return append(binary.AppendUvarint([]byte{id}, uint64(len(body))), body...)
}

// block is bytes after their number.
func block(content ...[]byte) []byte {
	body := slices.Concat(content...)
	return append(binary.AppendUvarint(nil, uint64(len(body))), body...)
}

var wasmHead = []byte("\x00asm\x01\x00\x00\x00")

// sample is a module with one imported function, four of its own, and data.
func sample(data ...segment) []byte {
	name := func(index byte, s string) []byte { return append([]byte{index}, block([]byte(s))...) }
	return slices.Concat(wasmHead,
		section(sectionImport, []byte{1}, block([]byte("go")), block([]byte("debug")), []byte{externFunction, 0}),
		section(sectionCode, []byte{4}, block(make([]byte, 300)), block(make([]byte, 20)), block(make([]byte, 5)), block(make([]byte, 2))),
		section(sectionData, encodeSegments(data)),
		section(sectionCustom, block([]byte("name")), []byte{nameSubFunction}, block([]byte{4},
			name(1, "example.com_dir_my_pkg_2ev2.__T_.Method"),
			name(2, "net_url.Parse"),
			name(3, "type_.eq.net_url.URL"),
			name(4, "go_buildid"))))
}

func identity(path string) string { return path }

func TestCosts(t *testing.T) {
	costs, err := Costs(sample(segment{16, []byte("data")}), []string{"example.com/dir/my-pkg.v2", "net", "net/url", "main"}, identity)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, c := range costs {
		got[c.Name] = c.Raw
		if c.Gzip <= 0 {
			t.Errorf("%s takes nothing compressed", c.Name)
		}
	}
	for name, want := range map[string]int64{"example.com/dir/my-pkg.v2": 300, "net/url": 25, unowned: 2, dataName: 10} {
		if got[name] != want {
			t.Errorf("%s: %d bytes, want %d", name, got[name], want)
		}
	}
	if costs[0].Name != "example.com/dir/my-pkg.v2" {
		t.Errorf("the largest part is %s", costs[0].Name)
	}
}

func TestBadModules(t *testing.T) {
	whole := sample(segment{16, []byte("data")})
	for name, module := range map[string][]byte{
		"empty":          nil,
		"another format": []byte("\x7fELF\x01\x00\x00\x00"),
		"version 2":      []byte("\x00asm\x02\x00\x00\x00"),
	} {
		if _, err := Costs(module, nil, identity); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for n := range whole {
		if n <= len(wasmHead) {
			continue
		}
		// A cut between two sections is a module, without names.
		if _, err := Costs(whole[:n], nil, identity); err == nil {
			t.Errorf("cut after %d bytes: no error", n)
		}
	}
}

func TestPackKeepsTheMemory(t *testing.T) {
	for name, c := range map[string]struct {
		segments []segment
		want     int
	}{
		"none":         {nil, 0},
		"one":          {[]segment{{3, []byte("abc")}}, 1},
		"near":         {[]segment{{3, []byte("abc")}, {20, []byte("def")}}, 1},
		"at the gap":   {[]segment{{3, []byte("abc")}, {6 + joinGap, []byte("def")}}, 1},
		"far":          {[]segment{{3, []byte("abc")}, {7 + joinGap, []byte("def")}}, 2},
		"not in order": {[]segment{{200, []byte("xyz")}, {3, []byte("abc")}, {190, []byte("uvw")}}, 2},
		"touching":     {[]segment{{64, []byte("abc")}, {67, []byte("def")}}, 1},
		"last over":    {[]segment{{100, []byte("aaaa")}, {102, []byte("bb")}}, 1},
		"zeros inside": {[]segment{{8, append(append([]byte("a"), make([]byte, 100)...), 'b')}}, 2},
	} {
		packed, err := pack(sample(c.segments...))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := segmentsOf(t, packed)
		if !bytes.Equal(memoryOf(got), memoryOf(c.segments)) {
			t.Errorf("%s: another memory", name)
		}
		if len(got) != c.want {
			t.Errorf("%s: %d segments, want %d", name, len(got), c.want)
		}
		// The rest of the module stays.
		if _, err := Costs(packed, []string{"net/url"}, identity); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, bad := range map[string]segment{"before memory": {-1, []byte("a")}, "far away": {1 << 40, []byte("a")}} {
		if _, err := pack(sample(bad)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// segmentsOf reads the data of a module.
func segmentsOf(t *testing.T, module []byte) []segment {
	t.Helper()
	r := &wasmReader{rest: module[len(wasmHead):]}
	for {
		id, err := r.bytes(1)
		if err != nil {
			t.Fatal("no data in the module")
		}
		content, err := r.block()
		if err != nil {
			t.Fatal(err)
		}
		if id[0] == sectionData {
			segments, err := dataSegments(&wasmReader{rest: content})
			if err != nil {
				t.Fatal(err)
			}
			return segments
		}
	}
}

func TestSignedNumbers(t *testing.T) {
	for _, n := range []int64{0, 1, 63, 64, 127, 128, -1, -64, -65, 1 << 20, 3 << 30, -1 << 40, 1<<63 - 1, -1 << 63} {
		r := &wasmReader{rest: append(appendInt(nil, n), 0xaa)}
		if got, err := r.int(); err != nil || got != n || len(r.rest) != 1 {
			t.Errorf("%d comes back as %d, %v, %d bytes left", n, got, err, len(r.rest))
		}
	}
	for _, bad := range [][]byte{{}, {0x80}, bytes.Repeat([]byte{0xff}, 12)} {
		if _, err := (&wasmReader{rest: bad}).int(); err == nil {
			t.Errorf("% x is a number", bad)
		}
		if _, err := (&wasmReader{rest: bad}).uint(); err == nil {
			t.Errorf("% x is a number without sign", bad)
		}
	}
}

func TestDependencyNamesModules(t *testing.T) {
	for path, want := range map[string]string{
		"github.com/maxence-charriere/go-app/v10/pkg/app": "github.com/maxence-charriere/go-app",
		"vrametre/calc/nn":      "the engine (calc)",
		"main":                  "the page (wasm, web, content)",
		"internal/runtime/maps": "Go runtime",
		"net/url":               "Go, other packages",
	} {
		if got := dependency(path); !strings.HasPrefix(got, want) {
			t.Errorf("%s belongs to %q, want %q", path, got, want)
		}
	}
}
