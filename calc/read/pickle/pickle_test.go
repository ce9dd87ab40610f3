package pickle_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"vrametre/calc/fault"
	"vrametre/calc/read/checkpoint"
	"vrametre/calc/read/pickle"
	"vrametre/calc/read/readtest"
)

func sample(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name + ".pt")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func read(data []byte) (*checkpoint.File, error) {
	return pickle.Read(bytes.NewReader(data), int64(len(data)))
}

func list(f *checkpoint.File) string {
	var b strings.Builder
	for _, t := range f.Tensors {
		fmt.Fprintf(&b, "%s %s %v", t.Name, t.DType, t.Shape)
		if t.Shared {
			b.WriteString(" shared")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// TestSamples reads what PyTorch 1.13 wrote: a state dict in both formats, a whole module, a training
// checkpoint, several types, a scripted module.
func TestSamples(t *testing.T) {
	state := `conv.weight float32 [3 2 3 3]
conv.bias float32 [3]
norm.weight float32 [3]
norm.bias float32 [3]
norm.running_mean float32 [3]
norm.running_var float32 [3]
norm.num_batches_tracked int64 []
head.weight float32 [4 3]
tied.weight float32 [4 3] shared
`
	for name, want := range map[string]string{
		"state":    state,
		"legacy":   state,
		"training": state,
		"module": `0.weight float32 [3 2 3 3]
0.bias float32 [3]
1.weight float32 [3]
1.bias float32 [3]
1.running_mean float32 [3]
1.running_var float32 [3]
1.num_batches_tracked int64 []
3.weight float32 [4 3]
3.bias float32 [4]
`,
		"script": "0.weight float32 [3 2]\n0.bias float32 [3]\n",
		"types":  "half float16 [2 3]\nb bfloat16 [4]\nview float32 [2 2]\np float32 [3]\ni int64 [5]\nq qint8 [2 2]\n",
	} {
		f, err := read(sample(t, name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := list(f); got != want {
			t.Errorf("%s:\n%s", name, got)
		}
		if len(f.Warnings) > 0 {
			t.Errorf("%s: %v", name, f.Warnings)
		}
		if other := f.Other > 0; other != (name == "training") {
			t.Errorf("%s: %d bytes beside the model", name, f.Other)
		}
	}
}

// archive is a zip with one stored entry.
func archive(name, content string) []byte {
	le := binary.LittleEndian
	var b []byte
	u16 := func(v ...int) {
		for _, x := range v {
			b = le.AppendUint16(b, uint16(x))
		}
	}
	u32 := func(v int) { b = le.AppendUint32(b, uint32(v)) }
	u32(0x04034b50)
	u16(20, 0, 0, 0, 0)
	u32(0)
	u32(len(content))
	u32(len(content))
	u16(len(name), 0)
	b = append(append(b, name...), content...)
	dir := len(b)
	u32(0x02014b50)
	u16(20, 20, 0, 0, 0, 0)
	u32(0)
	u32(len(content))
	u32(len(content))
	u16(len(name), 0, 0, 0, 0)
	u32(0)
	u32(0)
	b = append(b, name...)
	size := len(b) - dir
	u32(0x06054b50)
	u16(0, 0, 1, 1)
	u32(size)
	u32(dir)
	u16(0)
	return b
}

// tensorOf is a pickled tensor with the given pickled arguments: storage elements, offset, size, stride.
func tensorOf(numel, offset, size, stride string) string {
	return "ctorch._utils\n_rebuild_tensor_v2\n((U\x07storagectorch\nFloatStorage\nU\x010U\x03cpu" + numel + "tQ" + offset + size + stride + "\x89ccollections\nOrderedDict\n)RtR"
}

func dictOf(value string) []byte {
	return archive("archive/data.pkl", "\x80\x02}U\x01w"+value+"s.")
}

func TestBad(t *testing.T) {
	const pkl = "archive/data.pkl"
	good := sample(t, "state")
	for _, c := range []struct {
		name     string
		data     []byte
		code, at string
	}{
		{"empty", nil, "file-short", ""},
		{"three bytes", []byte("abc"), "pickle-format", ""},
		{"a tar", append(bytes.Repeat([]byte{0}, 257), "ustar"...), "pickle-format", ""},
		{"zip without end", good[:100], "zip-directory", ""},
		{"zip cut in its directory", good[:len(good)-30], "zip-directory", ""},
		{"another zip", archive("word/document.xml", "x"), "zip-without", "data.pkl"},
		{"no tensors", archive(pkl, "\x80\x02}."), "file-empty", ""},
		{"cut pickle", archive(pkl, "\x80\x02}q"), "pickle-short", "data.pkl"},
		{"text length beyond the end", archive(pkl, "\x80\x02X\xff\xff\xff\xff"), "pickle-short", "data.pkl"},
		{"text length of 2^63", archive(pkl, "\x80\x04\x8d\x00\x00\x00\x00\x00\x00\x00\x80"), "pickle-number", "data.pkl"},
		{"unknown opcode", archive(pkl, "\x80\x02\xff"), "pickle-opcode", "data.pkl"},
		{"extension", archive(pkl, "\x80\x02\x82\x01"), "pickle-opcode", "data.pkl"},
		{"empty stack", archive(pkl, "\x80\x020"), "pickle-empty", "data.pkl"},
		{"no mark", archive(pkl, "\x80\x02t"), "pickle-mark", "data.pkl"},
		{"memo that is not there", archive(pkl, "\x80\x02h\x07"), "pickle-memo", "data.pkl"},
		{"memo of 2^31", archive(pkl, "\x80\x02Nr\xff\xff\xff\x7f"), "pickle-memo", "data.pkl"},
		{"protocol 9", archive(pkl, "\x80\x09N."), "pickle-protocol", "data.pkl"},
		{"storage that is none", archive(pkl, "\x80\x02(U\x07storageNNNNtQ."), "pickle-storage", "data.pkl"},
		{"negative dimension", dictOf(tensorOf("K\x06", "K\x00", "J\xff\xff\xff\xff\x85", "K\x01\x85")), "tensor-dim", "data.pkl"},
		{"dimension of 2^63-1", dictOf(tensorOf("K\x06", "K\x00", "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f\x85", "K\x01\x85")), "tensor-dim", "data.pkl"},
		{"product beyond int64", dictOf(tensorOf("K\x06", "K\x00", "\x8a\x05\x00\x00\x00\x00\x01\x8a\x05\x00\x00\x00\x00\x01\x86", "K\x00K\x00\x86")), "tensor-size", "data.pkl"},
		{"shape beyond its storage", dictOf(tensorOf("K\x06", "K\x00", "K\x07\x85", "K\x01\x85")), "pickle-beyond", "data.pkl"},
		{"offset beyond its storage", dictOf(tensorOf("K\x06", "K\x06", "K\x01\x85", "K\x01\x85")), "pickle-beyond", "data.pkl"},
		{"stride of another rank", dictOf(tensorOf("K\x06", "K\x00", "K\x06\x85", ")")), "pickle-tensor", "data.pkl"},
	} {
		_, err := read(c.data)
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != c.code || f.At != c.at {
			t.Errorf("%s: %v, want %s at %q", c.name, err, c.code, c.at)
		}
	}
}

// TestRunsNothing: what would run a command in Python is a name with a warning.
func TestRunsNothing(t *testing.T) {
	evil := "cposix\nsystem\nU\x09rm -rf /x\x85R"
	f, err := read(archive("a/data.pkl", "\x80\x02}(U\x01w"+tensorOf("K\x06", "K\x00", "K\x02K\x03\x86", "K\x03K\x01\x86")+"U\x01x"+evil+"u."))
	if err != nil || list(f) != "w float32 [2 3]\n" {
		t.Fatalf("%v %v", f, err)
	}
	if len(f.Warnings) != 1 || f.Warnings[0].Code != "pickle-unsafe" || f.Warnings[0].Args["global"] != "posix.system" {
		t.Errorf("%v", f.Warnings)
	}
}

// TestBombs: exponential references, endless stacks and deep nesting end in an error, in bounded time and memory.
func TestBombs(t *testing.T) {
	laughs := "\x80\x02]q\x00"
	for i := range 100 {
		laughs += fmt.Sprintf("](h%ch%ceq%c0h%c", i, i, i+1, i+1)
	}
	const room = 8 << 20
	for name, p := range map[string]string{
		"references": laughs + ".",
		"lists":      "\x80\x02" + strings.Repeat("]", room-10),
		"popped":     "\x80\x02" + strings.Repeat("]0", room/2-10) + "N.",
		"nested":     "\x80\x02" + strings.Repeat("]", 10_000) + strings.Repeat("a", 9_999) + ".",
		"marks":      "\x80\x02" + strings.Repeat("(", room-10),
		"appended":   "\x80\x02]" + strings.Repeat("Na", room/2-10) + ".",
		"memo":       "\x80\x02N" + strings.Repeat("r\xff\xff\x0f\x00", 1_000_000) + ".",
		"texts":      "\x80\x02" + strings.Repeat("U\x000", room/3-10) + "N.",
		"dicts":      "\x80\x02}" + strings.Repeat("NNs", room/3-10) + ".",
	} {
		data := archive("a/data.pkl", p)
		readtest.Bound(t, name, func() error { _, err := read(data); return err })
	}
	entries := []byte("PK\x03\x04")
	entry := append([]byte("PK\x01\x02"), make([]byte, 42)...)
	n := (64<<20 - 100) / len(entry)
	entries = append(entries, bytes.Repeat(entry, n)...)
	end := binary.LittleEndian.AppendUint32([]byte("PK\x05\x06\x00\x00\x00\x00\x01\x00\x01\x00"), uint32(n*len(entry)))
	entries = append(append(entries, end...), 4, 0, 0, 0, 0, 0)
	readtest.Bound(t, "zip entries", func() error { _, err := read(entries); return err })
}

func FuzzPickle(f *testing.F) {
	for _, name := range []string{"state", "legacy", "module", "training", "types", "script"} {
		f.Add(sample(f, name))
	}
	f.Add(dictOf(tensorOf("K\x06", "K\x00", "K\x02K\x03\x86", "K\x03K\x01\x86")))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, d := range [][]byte{data, archive("a/data.pkl", string(data))} {
			c, err := read(d)
			var e *fault.Error
			if err != nil && !errors.As(err, &e) {
				t.Fatal(err)
			}
			if err == nil {
				if s := c.Total(); s.Parameters < 0 || s.ParameterBytes < 0 {
					t.Fatal(s)
				}
				c.Tree()
				c.Config()
			}
		}
	})
}
