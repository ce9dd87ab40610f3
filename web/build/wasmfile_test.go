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

// memory is what a machine holds once the module is loaded.
func memory(segments []segment) []byte {
	m := make([]byte, 1000)
	for _, s := range segments {
		copy(m[s.offset:], s.data)
	}
	return m
}

func TestJoinDataKeepsTheMemory(t *testing.T) {
	for name, segments := range map[string][]segment{
		"none":         {},
		"one":          {{3, []byte("abc")}},
		"near":         {{3, []byte("abc")}, {20, []byte("def")}},
		"far":          {{3, []byte("abc")}, {3 + 3 + joinGap + 1, []byte("def")}},
		"not in order": {{200, []byte("xyz")}, {3, []byte("abc")}, {190, []byte("uvw")}},
		"touching":     {{64, []byte("abc")}, {67, []byte("def")}},
		"last over":    {{100, []byte("aaaa")}, {102, []byte("bb")}},
	} {
		joined, err := joinData(sample(segments...))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		r := &wasmReader{rest: joined[len(wasmHead):]}
		for {
			id, err := r.bytes(1)
			if err != nil {
				t.Fatalf("%s: no data", name)
			}
			content, err := r.block()
			if err != nil {
				t.Fatal(err)
			}
			if id[0] != sectionData {
				continue
			}
			got, err := dataSegments(&wasmReader{rest: content})
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(memory(got), memory(segments)) {
				t.Errorf("%s: another memory", name)
			}
			if name == "near" && len(got) != 1 || name == "far" && len(got) != 2 {
				t.Errorf("%s: %d segments", name, len(got))
			}
			break
		}
		// The rest of the module stays.
		if _, err := Costs(joined, []string{"net/url"}, identity); err != nil {
			t.Errorf("%s: %v", name, err)
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
