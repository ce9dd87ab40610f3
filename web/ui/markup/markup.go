// Package markup describes elements of a page as data. The site generator
// writes a tree as HTML; the live page mounts the very same tree, so that
// waking up changes nothing.
package markup

import "strings"

// Node is an element, or a text where Tag is empty.
type Node struct {
	Tag   string
	Attrs []Attr
	Kids  []Node
	Text  string
	// Drawn is HTML that stands inside an element without kids until the live
	// page draws there itself.
	Drawn string
}

// Attr is one attribute. Attributes keep their order: two renderings are the same bytes.
type Attr struct{ Name, Value string }

// Text is a text node.
func Text(s string) Node { return Node{Text: s} }

// Elem is an element with children.
func Elem(tag string, attrs []Attr, kids ...Node) Node {
	return Node{Tag: tag, Attrs: attrs, Kids: kids}
}

// A lists attributes from names and values in turn.
func A(pairs ...string) []Attr {
	attrs := make([]Attr, 0, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		attrs = append(attrs, Attr{pairs[i], pairs[i+1]})
	}
	return attrs
}

// Get is the value of an attribute, or "".
func (n Node) Get(name string) string {
	for _, a := range n.Attrs {
		if a.Name == name {
			return a.Value
		}
	}
	return ""
}

// With is the node with one more attribute.
func (n Node) With(name, value string) Node {
	n.Attrs = append(n.Attrs[:len(n.Attrs):len(n.Attrs)], Attr{name, value})
	return n
}

// Boolean attributes are there or not; the value says nothing.
var boolean = map[string]bool{"checked": true, "disabled": true, "hidden": true, "multiple": true, "open": true, "selected": true}

// Boolean reports whether an attribute has no value.
func Boolean(name string) bool { return boolean[name] }

// void elements have no end tag.
var void = map[string]bool{"br": true, "hr": true, "img": true, "input": true}

// Void reports whether an element has neither children nor an end tag.
func Void(tag string) bool { return void[tag] }

var (
	escapeText = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	escapeAttr = strings.NewReplacer("&", "&amp;", `"`, "&quot;", "<", "&lt;")
)

// HTML writes the tree. Nothing is added around elements, not even a line.
func (n Node) HTML() string {
	var b strings.Builder
	n.write(&b)
	return b.String()
}

// HTML writes nodes one after the other.
func HTML(nodes []Node) string {
	var b strings.Builder
	for _, n := range nodes {
		n.write(&b)
	}
	return b.String()
}

func (n Node) write(b *strings.Builder) {
	if n.Tag == "" {
		b.WriteString(escapeText.Replace(n.Text))
		return
	}
	b.WriteByte('<')
	b.WriteString(n.Tag)
	for _, a := range n.Attrs {
		b.WriteByte(' ')
		b.WriteString(a.Name)
		if !boolean[a.Name] {
			b.WriteString(`="`)
			b.WriteString(escapeAttr.Replace(a.Value))
			b.WriteByte('"')
		}
	}
	b.WriteString(">")
	if void[n.Tag] {
		return
	}
	b.WriteString(n.Drawn)
	for _, kid := range n.Kids {
		kid.write(b)
	}
	b.WriteString("</")
	b.WriteString(n.Tag)
	b.WriteByte('>')
}
