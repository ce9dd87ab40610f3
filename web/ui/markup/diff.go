package markup

// Change is one step that makes a drawn tree show another one.
type Change struct {
	// Path leads to the node: indices of children, from the drawn list on. It is
	// only good until the next change.
	Path []int
	Kind ChangeKind
	// Name is an attribute's, Value what it, the text or the inside becomes.
	Name, Value string
}

// ChangeKind says what changes.
type ChangeKind uint8

const (
	// SetAttribute gives an element's attribute a value, RemoveAttribute takes it away.
	SetAttribute ChangeKind = iota
	RemoveAttribute
	// SetText gives a text node its text.
	SetText
	// SetInside gives an element other children, as HTML. With an empty path it is the whole list.
	SetInside
)

// Diff tells the changes that lead from one list of nodes to another. Where the
// elements are the same, only attributes and texts change: a figure that
// follows a slider keeps its elements.
func Diff(from, to []Node, tell func(Change)) {
	d := differ{tell: tell}
	d.list(from, to)
}

type differ struct {
	path []int
	tell func(Change)
}

func (d *differ) list(from, to []Node) {
	if !alike(from, to) {
		d.tell(Change{Path: d.path, Kind: SetInside, Value: HTML(to)})
		return
	}
	for i := range to {
		d.path = append(d.path, i)
		d.node(&from[i], &to[i])
		d.path = d.path[:len(d.path)-1]
	}
}

func (d *differ) node(from, to *Node) {
	if to.Tag == "" {
		if from.Text != to.Text {
			d.tell(Change{Path: d.path, Kind: SetText, Value: to.Text})
		}
		return
	}
	for i, a := range to.Attrs {
		if i < len(from.Attrs) && from.Attrs[i] == a {
			continue
		}
		if was, had := from.attribute(a.Name); !had || was != a.Value {
			d.tell(Change{Path: d.path, Kind: SetAttribute, Name: a.Name, Value: a.Value})
		}
	}
	for i, a := range from.Attrs {
		if i < len(to.Attrs) && to.Attrs[i].Name == a.Name {
			continue
		}
		if _, has := to.attribute(a.Name); !has {
			d.tell(Change{Path: d.path, Kind: RemoveAttribute, Name: a.Name})
		}
	}
	if from.Drawn != to.Drawn {
		d.tell(Change{Path: d.path, Kind: SetInside, Value: to.Drawn + HTML(to.Kids)})
	} else if to.Drawn == "" {
		d.list(from.Kids, to.Kids)
	}
}

func (n *Node) attribute(name string) (value string, ok bool) {
	for _, a := range n.Attrs {
		if a.Name == name {
			return a.Value, true
		}
	}
	return "", false
}

// alike says whether two lists have the same elements in the same order, each
// of which is one child in the document: an empty text is none there, and two
// texts side by side are one.
func alike(from, to []Node) bool {
	if len(from) != len(to) {
		return false
	}
	for i := range to {
		if from[i].Tag != to[i].Tag {
			return false
		}
		if to[i].Tag == "" && (from[i].Text == "" || to[i].Text == "" || i > 0 && to[i-1].Tag == "") {
			return false
		}
	}
	return true
}
