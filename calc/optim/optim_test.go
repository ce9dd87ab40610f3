package optim

import (
	"embed"
	"encoding/csv"
	"strconv"
	"strings"
	"testing"

	"vrametre/calc/torch"
	"vrametre/calc/validate/exacttest"
)

//go:embed testdata/steps.csv
var testdata embed.FS

// measured is a row of testdata/steps.csv: the device bytes of one optimizer on one net, as PyTorch made them.
type measured struct {
	name                        string
	config                      Config
	params                      []Param
	state, first, steady, sixth int64
}

// steps reads testdata/steps.csv. Rows "params,<net>,<shapes>" list a net's parameters; the others are
// <version>,<net>,<optimizer>,<arguments>,<implementation>,<state>,<first>,<steady>,<sixth>: the bytes of state, and the
// most that the first, second and sixth step held beside weights, gradients and the state before it.
func steps(t *testing.T) []measured {
	f, err := testdata.Open("testdata/steps.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.FieldsPerRecord, r.Comment = -1, '#'
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	number := func(s string) int64 {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	nets := map[string][]Param{}
	var out []measured
	for _, row := range rows {
		if row[0] == "params" {
			for shape := range strings.FieldsSeq(row[2]) {
				p := Param{Numel: 1, DType: torch.Float32}
				for d := range strings.SplitSeq(shape, "x") {
					p.Shape = append(p.Shape, number(d))
					p.Numel *= number(d)
				}
				nets[row[1]] = append(nets[row[1]], p)
			}
			continue
		}
		c := Config{Name: row[2], Foreach: row[4] == "foreach", Fused: row[4] == "fused", Before2: strings.HasPrefix(row[0], "1.")}
		for arg := range strings.FieldsSeq(row[3]) {
			switch arg {
			case "momentum":
				c.Momentum = true
			case "amsgrad":
				c.AMSGrad = true
			case "centered":
				c.Centered = true
			case "weight_decay":
				c.WeightDecay = true
			default:
				t.Fatalf("argument %q", arg)
			}
		}
		out = append(out, measured{strings.Join(row[:5], " "), c, nets[row[1]], number(row[5]), number(row[6]), number(row[7]), number(row[8])})
	}
	return out
}

// meter counts live bytes and their peak.
type meter struct {
	t                 *testing.T
	live, peak, state int64
	temps             map[int32]int64
	made              int32
}

func (m *meter) State(bytes int64) {
	m.state += bytes
	m.grow(bytes)
}

func (m *meter) Temp(bytes int64) int32 {
	m.made++
	m.temps[m.made] = bytes
	m.grow(bytes)
	return m.made
}

func (m *meter) Free(h int32) {
	b, ok := m.temps[h]
	if !ok {
		m.t.Error("freed twice")
	}
	delete(m.temps, h)
	m.live -= b
}

func (m *meter) grow(bytes int64) {
	m.live += bytes
	m.peak = max(m.peak, m.live)
}

func TestMeasuredSteps(t *testing.T) {
	count := map[bool]*exacttest.Count{true: {}, false: {}} // before PyTorch 2, and after
	for _, want := range steps(t) {
		if len(want.params) == 0 {
			t.Fatalf("%s: no parameters", want.name)
		}
		m := &meter{t: t, temps: map[int32]int64{}}
		step := func(n int) int64 {
			before := m.live
			m.peak = m.live
			want.config.Step(want.params, n, m)
			if len(m.temps) > 0 {
				t.Errorf("%s: step %d leaves %d temporaries", want.name, n, len(m.temps))
			}
			return m.peak - before
		}
		want.config.Construct(want.params, m)
		first, steady, sixth := step(1), step(2), step(6)
		exact := m.state == want.state && first == want.first && steady == want.steady && sixth == want.sixth
		count[want.config.Before2].Add(exact)
		if !exact {
			t.Errorf("%s: state %d, steps %d %d %d; measured %d, %d %d %d", want.name, m.state, first, steady, sixth, want.state, want.first, want.steady, want.sixth)
		}
		if got := want.config.StateBytes(want.params); got != m.state {
			t.Errorf("%s: StateBytes %d, made %d", want.name, got, m.state)
		}
	}
	before, after := *count[true], *count[false]
	t.Logf("exact: %d of %d settings in 1.13, %d of %d in 2.6", before.Exact, before.Compared, after.Exact, after.Compared)
	if before.Compared == 0 || after.Compared == 0 {
		t.Error("nothing compared")
	}
	exacttest.Hold(t, "../validate/data/exact/optim.json", map[string]exacttest.Count{"optimizers": {Compared: before.Compared + after.Compared, Exact: before.Exact + after.Exact}})
}
