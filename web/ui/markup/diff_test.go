package markup

import (
	"fmt"
	"reflect"
	"testing"
)

func TestDiff(t *testing.T) {
	p := func(attrs []Attr, kids ...Node) []Node { return []Node{Elem("p", attrs, kids...)} }
	for _, c := range []struct {
		name     string
		from, to []Node
		want     []string
	}{
		{"nothing", p(A("a", "1"), Text("x")), p(A("a", "1"), Text("x")), nil},
		{"a text", p(nil, Text("x")), p(nil, Text("y <")), []string{"text [0 0] y <"}},
		{"an attribute", p(A("a", "1", "b", "2")), p(A("a", "1", "b", "3")), []string{"set [0] b=3"}},
		{"one more attribute", p(A("a", "1")), p(A("b", "2", "a", "1")), []string{"set [0] b=2"}},
		{"one less", p(A("b", "2", "a", "1")), p(A("a", "1")), []string{"remove [0] b"}},
		{"below", p(nil, Elem("b", nil), Elem("i", A("w", "1"), Text("x"))), p(nil, Elem("b", nil), Elem("i", A("w", "2"), Text("y"))), []string{"set [0 1] w=2", "text [0 1 0] y"}},
		{"another element", p(nil, Elem("b", nil), Elem("i", nil)), p(nil, Elem("b", nil), Elem("u", A("a", "1"))), []string{`inside [0] <b></b><u a="1"></u>`}},
		{"more elements at the top", p(nil), append(p(nil), p(nil)...), []string{"inside [] <p></p><p></p>"}},
		{"an empty text is no node", p(nil, Text("")), p(nil, Text("x")), []string{"inside [0] x"}},
		{"texts side by side are one", p(nil, Text("a"), Text("b")), p(nil, Text("a"), Text("c")), []string{"inside [0] ac"}},
		{"what is drawn", []Node{{Tag: "div", Drawn: "<b>"}}, []Node{{Tag: "div", Drawn: "<i>"}}, []string{"inside [0] <i>"}},
	} {
		var got []string
		Diff(c.from, c.to, func(c Change) {
			switch c.Kind {
			case SetAttribute:
				got = append(got, fmt.Sprintf("set %v %s=%s", c.Path, c.Name, c.Value))
			case RemoveAttribute:
				got = append(got, fmt.Sprintf("remove %v %s", c.Path, c.Name))
			case SetText:
				got = append(got, fmt.Sprintf("text %v %s", c.Path, c.Value))
			case SetInside:
				got = append(got, fmt.Sprintf("inside %v %s", c.Path, c.Value))
			}
		})
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
