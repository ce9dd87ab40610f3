package island

import (
	"os"
	"slices"
	"strings"
	"testing"

	"vrametre/content"
	"vrametre/web/ui/markup"
	"vrametre/web/view"
)

func scene(t *testing.T, s view.State) view.Scene {
	t.Helper()
	computed, err := view.Compute(s)
	if err != nil {
		t.Fatal(err)
	}
	return computed
}

var states = []view.State{
	view.Default(),
	view.Default().With(view.ScrubBatch, 1024).With(view.ScrubSide, 512),
	view.Default().With(view.ScrubBatch, 1).WithOptimizer("sgd").WithGPU("a100-80"),
}

// others are states of the workshop.
var others = []view.State{imported(view.Paste(table)), imported(view.Paste(string(trace)))}

// table is a summary that states its sizes.
const table = `Layer (type:depth-idx)                   Output Shape              Param #
Sequential                               [4, 10]                   --
├─Linear: 1-1                            [4, 32]                   1,056
├─ReLU: 1-2                              [4, 32]                   --
├─Linear: 1-3                            [4, 10]                   330
Total params: 1,386
Trainable params: 1,386
Non-trainable params: 0
Total mult-adds (M): 0.01
Input size (MB): 0.00
Forward/backward pass size (MB): 0.01
Params size (MB): 0.01
Estimated Total Size (MB): 0.02
`

// trace is an exported trace.
var trace = func() []byte {
	data, err := os.ReadFile("../../../calc/read/trace/testdata/lesson.json")
	if err != nil {
		panic(err)
	}
	return data
}()

func imported(i *view.Import) view.State {
	s := view.Start(view.PageWorkshop)
	s.Setup = s.Setup.WithImport(i)
	return s
}

func walk(n markup.Node, visit func(markup.Node)) {
	visit(n)
	for _, kid := range n.Kids {
		walk(kid, visit)
	}
}

// shape writes the elements of a tree without what may change.
func shape(n markup.Node) string {
	out := n.Tag + "#" + n.Get("id") + "." + n.Get("class") + "(" + n.Get("data-control") + n.Get("data-field") + n.Get("data-v") + ")"
	if n.Get("data-list") != "" {
		return out // as many children as there are things to list
	}
	for _, kid := range n.Kids {
		out += shape(kid)
	}
	return out
}

// views are what the islands can come to show, beside the figures.
func views(f view.Figures) []View {
	at := func(change func(*View)) View {
		v := Start(f, view.PageOOM)
		change(&v)
		return v
	}
	list := []View{
		Start(f, ""),
		at(func(v *View) { v.CanUndo, v.Said = true, "toolbar.copied" }),
		at(func(v *View) { v.Message = Explain("no message at all", f) }),
		at(func(v *View) { v.Message = Explain("RuntimeError: CUDA error: out of memory", f) }),
		at(func(v *View) {
			v.Message = Explain("CUDA out of memory. Tried to allocate 384.00 MiB (GPU 1; 15.90 GiB total capacity; 14.75 GiB already allocated; 225.81 MiB free; 14.81 GiB reserved in total by PyTorch)", f)
		}),
		at(func(v *View) { v.Message.Reading = true }),
		at(func(v *View) { v.Card.Asking = true }),
		at(func(v *View) { v.Card.Query, v.Card.Sizeless = "intel", "intel-uhd-gen9" }),
		at(func(v *View) { v.Card.Remember, v.Card.Forgetful, v.AdviceMissing = true, true, true }),
	}
	for _, p := range []view.Probe{
		{Asked: true},
		{Asked: true, Secure: true, API: true, WebGL: true, Renderer: "ANGLE (NVIDIA, NVIDIA GeForce RTX 3060 (0x00002504) Direct3D11 vs_5_0 ps_5_0, D3D11)",
			Adapter: &view.Adapter{Vendor: "nvidia", Architecture: "ampere", Limits: map[string]int64{view.LimitBuffer: 1 << 31, "maxBindGroups": 4}}},
		{Asked: true, Secure: true, API: true, WebGL: true, Renderer: "ANGLE (NVIDIA, NVIDIA GeForce GTX 1650/PCIe/SSE2, OpenGL 4.6)"},
	} {
		list = append(list, at(func(v *View) { v.Card.Probe = p }))
	}
	for _, state := range []string{view.MeasureRunning, view.MeasureReached, view.MeasureFull, view.MeasureCancelled, view.MeasureLost, view.MeasureAbsent, view.MeasureFailed} {
		list = append(list, at(func(v *View) {
			v.Card.Measurement = view.Measurement{State: state, Got: 3 << 28, Cap: 2 << 30, Step: 1 << 28, Detail: "GPUInternalError"}
		}))
	}
	return list
}

// Each of the ten misunderstandings leads to its answer from where it arises, on the page that has the answers.
func TestBeliefs(t *testing.T) {
	const full = "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 11.91 GiB total capacity; 10.20 GiB already allocated; 10.00 MiB free; 10.40 GiB reserved in total by PyTorch)"
	f := view.NewFigures(scene(t, view.Default()), content.English)
	said := func(text string) func(*View) { return func(v *View) { v.Message = Explain(text, f) } }
	advised := func(v *View) {
		list, err := view.AllAdvice(view.Default())
		if err != nil {
			t.Fatal(err)
		}
		v.Advice = list
	}
	of := map[string]struct {
		island string
		arises func(*View)
	}{
		"small":  {OOM, said(full)},
		"floor":  {Remedies, advised},
		"qlora":  {Remedies, advised},
		"frozen": {Remedies, advised},
		"micro":  {Remedies, advised},
		"four": {MyCard, func(v *View) {
			v.Figures = view.NewFigures(scene(t, view.Default().WithGPU("kaggle-2xt4")), content.English)
		}},
		"vocabulary": {OOM, said("File \"train.py\", line 3, in <module>\n    loss = F.cross_entropy(logits, labels)\ntorch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 7.66 GiB. GPU 0 has a total capacity of 15.00 GiB of which 1.00 GiB is free.")},
		"context":    {OOM, said("ValueError: The model's max seq len (29000) is larger than the maximum number of tokens that can be stored in KV cache (20560). Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.")},
		"which":      {OOM, said(full)},
		"later":      {OOM, said("Epoch 3:  37%|███▋      | 37/100 [00:10<00:12, 5.1it/s]\n" + full)},
	}
	if len(of) != len(view.Beliefs) {
		t.Errorf("%d beliefs of %d", len(of), len(view.Beliefs))
	}
	for _, id := range view.Beliefs {
		c := of[id]
		for page, want := range map[string]bool{view.PageOOM: true, view.PageWorkshop: false} {
			v := Start(f, page)
			c.arises(&v)
			found := false
			walk(Tree(c.island, v), func(n markup.Node) {
				_, hidden := attribute(n, "hidden")
				found = found || n.Get("href") == "#"+id && !hidden && n.Kids[0].Text != ""
			})
			if found != want {
				t.Errorf("%s leads to its answer on the page %q: %v", id, page, found)
			}
		}
	}
}

func attribute(n markup.Node, name string) (string, bool) {
	for _, a := range n.Attrs {
		if a.Name == name {
			return a.Value, true
		}
	}
	return "", false
}

// go-app has no keys: an element that came and went would shift those after it.
func TestElementsNeverChange(t *testing.T) {
	for _, name := range Names {
		want := ""
		for _, state := range slices.Concat(states, others) {
			f := view.NewFigures(scene(t, state), content.French)
			for _, v := range views(f) {
				got := shape(Tree(name, v))
				if want == "" {
					want = got
				}
				if got != want {
					t.Errorf("%s at %+v: other elements\n%s\n%s", name, state, got, want)
				}
			}
		}
	}
}

// go-app drops attributes with an empty value, and content attributes of style
// are refused by a strict content security policy.
func TestAttributesSurvive(t *testing.T) {
	for _, lang := range content.Langs {
		for _, state := range append(others, view.Default()) {
			f := view.NewFigures(scene(t, state), lang)
			for _, name := range Names {
				for _, v := range views(f) {
					walk(Tree(name, v), func(n markup.Node) { attributesSurvive(t, name, n) })
				}
			}
		}
	}
}

func attributesSurvive(t *testing.T, name string, n markup.Node) {
	for _, a := range n.Attrs {
		switch {
		case a.Value == "" && !markup.Boolean(a.Name):
			t.Errorf("%s: <%s %s> is empty", name, n.Tag, a.Name)
		case a.Name == "style" || strings.HasPrefix(a.Name, "on"):
			t.Errorf("%s: <%s> has %s", name, n.Tag, a.Name)
		case strings.TrimSpace(a.Value) != a.Value:
			t.Errorf("%s: <%s %s=%q>: go-app trims it", name, n.Tag, a.Name, a.Value)
		}
	}
}

// Every figure and every word that an island names exists.
func TestReferencesResolve(t *testing.T) {
	for _, lang := range content.Langs {
		for _, state := range states {
			f := view.NewFigures(scene(t, state), lang)
			for _, name := range Names {
				for _, v := range views(f) {
					walk(Tree(name, v), func(n markup.Node) { referencesResolve(t, name, f, n) })
				}
			}
		}
	}
}

func referencesResolve(t *testing.T, name string, f view.Figures, n markup.Node) {
	if ref := n.Get("data-v"); ref != "" {
		if text, ok := f.Text(ref); !ok || text == "" {
			t.Errorf("%s: no figure %q", name, ref)
		}
	}
	if ref := n.Get("data-share"); ref != "" {
		if _, ok := f.Share(ref); !ok {
			t.Errorf("%s: no length %q", name, ref)
		}
	}
	for _, text := range append([]string{n.Text}, n.Get("aria-label"), n.Get("aria-valuetext")) {
		if strings.Contains(text, "{") || looksLikeKey(text) {
			t.Errorf("%s: %q is no text", name, text)
		}
	}
}

func looksLikeKey(s string) bool {
	head, _, dotted := strings.Cut(s, ".")
	return dotted && !strings.Contains(s, " ") && head != "" && strings.ToLower(head) == head && !strings.ContainsAny(head, "0123456789")
}

func TestSettingsShowTheState(t *testing.T) {
	state := view.Default().With(view.ScrubBatch, 77).WithOptimizer("sgd-momentum").WithGPU("tesla-t4")
	f := view.NewFigures(scene(t, state), content.English)
	values := map[string][]string{}
	walk(Tree(Settings, Start(f, "")), func(n markup.Node) {
		switch n.Tag {
		case "input":
			values[n.Get("data-control")] = append(values[n.Get("data-control")], n.Get("value"))
		case "select":
			for _, option := range n.Kids {
				for _, a := range option.Attrs {
					if a.Name == "selected" {
						values[n.Get("data-control")] = append(values[n.Get("data-control")], option.Get("value"))
					}
				}
			}
		}
	})
	for control, want := range map[string]string{"batch": "77,77", "side": "128,128", "values": "3,3", "buffers": "36,36", "optimizer": "sgd-momentum", "gpu": "tesla-t4"} {
		if got := strings.Join(values[control], ","); got != want {
			t.Errorf("%s shows %q, want %q", control, got, want)
		}
	}
}

// The table's rows are the chart's bars: they sum to the totals beside them.
func TestWhereSums(t *testing.T) {
	for _, state := range states {
		s := scene(t, state)
		var rule, simulated int64
		for _, row := range view.NewFigures(s, content.English).Where() {
			rule, simulated = rule+row.Rule, simulated+row.Simulated
		}
		if simulated != s.Now.Peak.Device {
			t.Errorf("%+v: parts sum to %d, the peak is %d", state, simulated, s.Now.Peak.Device)
		}
		html := HTML(Where, Start(view.NewFigures(s, content.English), ""), map[string]string{Where: "<svg></svg>"})
		for _, want := range []string{view.Bytes(content.English, rule) + "</span></td>", view.Bytes(content.English, simulated) + "</span></td>", "<svg></svg></div><table>"} {
			if !strings.Contains(html, want) {
				t.Errorf("%+v: no %q in %s", state, want, html)
			}
		}
	}
}

func undoable(f view.Figures) View {
	v := Start(f, "")
	v.CanUndo = true
	return v
}

func TestToolbar(t *testing.T) {
	disabled := func(v View) string {
		var names []string
		walk(Tree(Toolbar, v), func(n markup.Node) {
			for _, a := range n.Attrs {
				if a.Name == "disabled" {
					names = append(names, n.Get("data-action"))
				}
			}
		})
		return strings.Join(names, " ")
	}
	untouched := view.NewFigures(scene(t, view.Default()), content.French)
	if got := disabled(Start(untouched, "")); got != "undo reset" {
		t.Errorf("untouched page: disabled %q", got)
	}
	if got := disabled(undoable(untouched)); got != "reset" {
		t.Errorf("changed back: disabled %q", got)
	}
	changed := view.NewFigures(scene(t, states[1]), content.French)
	if got := disabled(undoable(changed)); got != "" {
		t.Errorf("changed page: disabled %q", got)
	}
}
