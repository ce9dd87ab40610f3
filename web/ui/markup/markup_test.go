package markup

import "testing"

func TestHTML(t *testing.T) {
	for _, c := range []struct {
		name string
		node Node
		want string
	}{
		{"text", Text(`a < b & "c"`), `a &lt; b &amp; "c"`},
		{"no-break spaces stay as they are", Text("8,6 Mo 1\u00a0000"), "8,6 Mo 1\u00a0000"},
		{"quotes in an attribute", Elem("p", A("title", `dit "oui" & <non>`)), `<p title="dit &quot;oui&quot; &amp; &lt;non>"></p>`},
		{"an empty value is kept", Elem("img", A("alt", "")), `<img alt="">`},
		{"boolean attributes have no value", Elem("option", A("selected", ""), Text("x")), `<option selected>x</option>`},
		{"order is kept", Elem("i", A("b", "1", "a", "2")), `<i b="1" a="2"></i>`},
		{"nothing is added between inline elements", Elem("p", nil, Text("a"), Elem("b", nil, Text("b")), Text("c")), `<p>a<b>b</b>c</p>`},
		{"void elements", Elem("p", nil, Elem("input", A("type", "range")), Elem("br", nil)), `<p><input type="range"><br></p>`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.node.HTML(); got != c.want {
				t.Errorf("HTML() = %s, want %s", got, c.want)
			}
		})
	}
}
