package island

import (
	"strconv"
	"strings"

	"vrametre/calc/oom"
	"vrametre/web/ui/markup"
	"vrametre/web/view"
)

// Message is a pasted text and what it means.
type Message struct {
	// Text is what Explanation explains: the paste, or the part of it that holds a message.
	Text        string
	Explanation oom.Explanation
	// Example says that it is not the reader's.
	Example bool
	// Reading says that a long text is being read.
	Reading bool
}

// Explain reads a text with the network and the batch that a page has loaded.
func Explain(text string, f view.Figures) Message {
	scene := f.Scene()
	return Message{Text: text, Explanation: oom.Explain(text, view.Hints(scene.Now, scene.State.Batch))}
}

// FieldMessage is the field that a message is pasted into.
const FieldMessage = "message"

// names of frameworks and devices, the same in every language.
var names = map[string]string{
	"pytorch": "PyTorch", "tensorflow": "TensorFlow", "jax": "JAX", "onnxruntime": "ONNX Runtime", "numpy": "NumPy", "cupy": "CuPy", "paddle": "PaddlePaddle",
	"mxnet": "MXNet", "theano": "Theano", "caffe": "Caffe", "cntk": "CNTK", "torch7": "Torch7", "vllm": "vLLM", "linux": "Linux",
	"cuda": "CUDA", "rocm": "ROCm", "xpu": "XPU", "mps": "MPS", "cpu": "CPU", "tpu": "TPU",
}

// origin says what kind of message it is, and whose.
func origin(v View) string {
	e := v.Message.Explanation
	parts := []string{text(v.Figures, "oom.kind."+e.Kind)}
	for _, code := range []string{e.Framework, e.Device} {
		switch name := names[code]; {
		case name != "":
			parts = append(parts, name)
		case code != "":
			parts = append(parts, code)
		}
	}
	if e.GPU != nil {
		parts = append(parts, "GPU "+strconv.FormatInt(*e.GPU, 10))
	}
	return strings.Join(parts, " · ")
}

// list is a container whose number of children changes: it stands last among
// its siblings' fixed positions, so that nothing shifts when it does.
func list(tag, class string, kids ...markup.Node) markup.Node {
	attrs := markup.A("class", class, "data-list", "true")
	if len(kids) == 0 {
		attrs = append(attrs, markup.Attr{Name: "hidden"})
	}
	return markup.Elem(tag, attrs, kids...)
}

// when hides an element that has nothing to say.
func when(shown bool, n markup.Node) markup.Node {
	if !shown {
		n.Attrs = append(n.Attrs, markup.Attr{Name: "hidden"})
	}
	return n
}

// mark numbers the explanations of a message, from 1 to marks and again.
const marks = 6

func markClass(number int) string { return "m" + strconv.Itoa((number-1)%marks+1) }

func message(v View) markup.Node {
	f, m := v.Figures, v.Message
	e := m.Explanation
	lang := f.Lang()
	runs, explained := view.Quote(m.Text, e, lang)
	title, why := view.VerdictText(e, lang)

	quote := make([]markup.Node, len(runs))
	for i, r := range runs {
		if r.Mark == 0 {
			quote[i] = markup.Elem("span", nil, markup.Text(r.Text))
			continue
		}
		n := strconv.Itoa(r.Mark)
		quote[i] = markup.Elem("a", markup.A("class", "mark "+markClass(r.Mark), "href", "#n"+n), markup.Text(r.Text), markup.Elem("sup", nil, markup.Text(n)))
	}
	answers := make([]markup.Node, len(explained))
	led := map[string]bool{} // where several numbers lead to one answer, the first does
	for i, x := range explained {
		attrs := markup.A("class", "derived")
		if x.Number > 0 {
			attrs = markup.A("class", markClass(x.Number), "id", "n"+strconv.Itoa(x.Number))
		}
		about := view.FieldBelief(x.Field)
		if led[about] {
			about = ""
		}
		led[about] = true
		answers[i] = markup.Elem("li", attrs, markup.Elem("p", nil, markup.Elem("b", nil, markup.Text(x.Label+".")), markup.Text(" "+x.Why+" "), belief(v, about)))
	}
	var warnings []markup.Node
	filled := e
	view.FillExplanation(&filled, lang)
	for _, w := range filled.Warnings {
		warnings = append(warnings, markup.Elem("li", nil, markup.Text(w.Words)))
	}
	var todo []markup.Node
	for _, a := range filled.Advice {
		todo = append(todo, markup.Elem("li", nil, markup.Text(a.Words)))
	}
	status := origin(v)
	if m.Reading {
		status = text(f, "oom.reading")
	}
	label := "oom.yours"
	if m.Example {
		label = "oom.example"
	}
	return markup.Elem("div", markup.A("class", "oom"),
		markup.Elem("div", markup.A("class", "paste scripted"),
			markup.Elem("label", markup.A("for", "message"), markup.Text(text(f, "oom.paste"))),
			markup.Elem("textarea", markup.A("id", "message", "data-field", FieldMessage, "rows", "5", "spellcheck", "false", "autocomplete", "off", "autocapitalize", "off", "lang", "en", "placeholder", strings.TrimSpace(view.ExampleStart))),
			markup.Elem("p", markup.A("class", "actions"),
				action(f, "example", "oom.again"),
			),
		),
		markup.Elem("h3", nil, markup.Text(text(f, label))),
		markup.Elem("p", markup.A("class", "origin", "role", "status"), markup.Text(status)),
		list("p", "message", quote...).With("lang", "en").With("translate", "no"),
		markup.Elem("div", markup.A("class", "told", "role", "status", "aria-live", "polite"),
			markup.Elem("p", markup.A("class", "says"), markup.Text(title)),
			markup.Elem("p", nil, markup.Text(why+" "), belief(v, view.VerdictBelief(e.Verdict.Code))),
		),
		list("ul", "warnings", warnings...),
		list("ol", "answers", answers...),
		candidates(v, filled),
		when(len(todo) > 0, markup.Elem("h3", nil, markup.Text(text(f, "oom.todo")))),
		list("ul", "todo", todo...),
	)
}

// belief leads to the answer to a misunderstanding, on the page that has them.
func belief(v View, id string) markup.Node {
	if v.Page != view.PageOOM || id == "" {
		return when(false, markup.Elem("a", markup.A("class", "why"), markup.Text("")))
	}
	return markup.Elem("a", markup.A("class", "why", "href", "#"+id), markup.Text(text(v.Figures, "belief."+id)))
}

// shownCandidates are listed at most, the likeliest first.
const shownCandidates = 6

// candidates lists the tensors that the request can be.
func candidates(v View, e oom.Explanation) markup.Node {
	f := v.Figures
	lang := f.Lang()
	var rows []markup.Node
	said := ""
	for _, c := range e.Candidates[:min(len(e.Candidates), shownCandidates)] {
		why := markup.Elem("small", nil, markup.Text(c.Why.Words))
		if c.Why.Words == said {
			why = when(false, why) // as in the row above
		}
		said = c.Why.Words
		about := belief(v, view.TensorBelief(c.Tensor.Code))
		name := c.Tensor.Words
		if c.Name != "" {
			name += " " + view.Text(lang, "oom.layer", view.Args{"path": c.Name})
		}
		rows = append(rows, markup.Elem("tr", nil,
			markup.Elem("th", markup.A("scope", "row"), markup.Text(name), why, about),
			markup.Elem("td", nil, markup.Text(view.CandidateText(c, lang))),
			markup.Elem("td", nil, markup.Text(view.Binary(lang, c.Bytes))),
			markup.Elem("td", nil, markup.Text(text(f, "oom.sure."+c.Sure))),
		))
	}
	head := func(key string) markup.Node {
		return markup.Elem("th", markup.A("scope", "col"), markup.Text(text(f, key)))
	}
	return when(len(rows) > 0, markup.Elem("div", markup.A("class", "scroll candidates", "tabindex", "0", "role", "region", "aria-label", text(f, "oom.candidates")),
		markup.Elem("table", nil,
			markup.Elem("caption", nil, markup.Text(text(f, "oom.candidates"))),
			markup.Elem("thead", nil, markup.Elem("tr", nil, head("oom.candidates.tensor"), head("oom.candidates.product"), head("oom.candidates.size"), head("oom.candidates.sure"))),
			list("tbody", "rows", rows...),
		),
	))
}

// action is a button that the live page answers.
func action(f view.Figures, name, key string, more ...string) markup.Node {
	return markup.Elem("button", append(markup.A("type", "button", "class", "quiet", "data-action", name), markup.A(more...)...), markup.Text(text(f, key)))
}
