package build

import (
	"crypto/sha256"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// SingleName is the edition in one file.
const SingleName = "vrametre.html"

// SinglePage is a page of that edition.
type SinglePage struct {
	// Path is the page's file in the site.
	Path string
	// Query is what follows "?" in the address of the page inside the one file;
	// "" is the page it opens with.
	Query string
}

// Single writes the edition in one file of pages that lie under dir already.
// Links between them become queries; what leads to other files of the site, or
// speaks of its address, is left out.
func (s *Site) Single(style string, pages []SinglePage) error {
	read := func(name string) (string, error) {
		data, err := os.ReadFile(filepath.Join(s.dir, filepath.FromSlash(name)))
		return string(data), err
	}
	queries := map[string]string{}
	for _, p := range pages {
		queries[p.Path] = p.Query
	}
	var first *html.Node
	held := map[string]string{}
	var names []string
	hold := func(name string, content []byte) {
		names = append(names, name)
		held[name] = base64.StdEncoding.EncodeToString(content)
	}
	for _, p := range pages {
		text, err := read(p.Path)
		if err != nil {
			return err
		}
		page, err := html.Parse(strings.NewReader(text))
		if err != nil {
			return err
		}
		alone(page, p.Path, queries)
		if p.Query == "" {
			first = page
			continue
		}
		var b strings.Builder
		if err := html.Render(&b, page); err != nil {
			return err
		}
		packed, err := gzipped([]byte(b.String()))
		if err != nil {
			return err
		}
		hold(p.Query, packed)
	}
	sheet, err := read(style)
	if err != nil {
		return err
	}
	starter, err := s.bundle("single.js", "--format=iife", define("MODULE", s.Module), define("BOOT", s.Boot))
	if err != nil {
		return err
	}
	scripts := []string{string(starter)}
	for _, name := range []string{s.Boot, s.Charts} {
		script, err := read(name)
		if err != nil {
			return err
		}
		packed, err := gzipped([]byte(script))
		if err != nil {
			return err
		}
		hold(name, packed)
		scripts = append(scripts, script)
	}
	module, err := read(s.Module)
	if err != nil {
		return err
	}
	hold(s.Module, []byte(module))
	licenses, err := read(LicensesName)
	if err != nil {
		return err
	}

	policy := "default-src 'none'; script-src 'wasm-unsafe-eval'"
	for _, script := range scripts {
		policy += " " + hashSource(script)
	}
	policy += "; style-src " + hashSource(sheet) + "; img-src data: blob:; base-uri 'none'; form-action 'none'"
	head, body := find(first, atom.Head), find(first, atom.Body)
	head.InsertBefore(element(atom.Meta, "", "http-equiv", "Content-Security-Policy", "content", policy), head.FirstChild)
	head.InsertBefore(element(atom.Meta, "", "charset", "utf-8"), head.FirstChild)
	head.AppendChild(element(atom.Style, sheet))
	for _, name := range names {
		body.AppendChild(element(atom.Script, held[name], "type", "text/plain", "data-file", name))
	}
	body.AppendChild(element(atom.Script, string(starter)))
	first.AppendChild(&html.Node{Type: html.CommentNode, Data: "\n" + licenses})
	var b strings.Builder
	if err := html.Render(&b, first); err != nil {
		return err
	}
	return s.write(SingleName, []byte(b.String()))
}

// alone rids a page of what it would load, and leads its links to the pages
// that are in the same file.
func alone(page *html.Node, at string, queries map[string]string) {
	var gone []*html.Node
	for n := range page.Descendants() {
		switch n.DataAtom {
		case atom.Html:
			set(n, "data-program", Workshop)
		case atom.Script, atom.Link:
			gone = append(gone, n)
		case atom.Meta:
			if _, ok := get(n, "charset"); ok {
				gone = append(gone, n)
			}
			if _, ok := get(n, "http-equiv"); ok {
				gone = append(gone, n)
			}
		case atom.Button, atom.P:
			_, address := get(n, "data-integrate")
			if _, elsewhere := get(n, "data-elsewhere"); address || elsewhere {
				gone = append(gone, n)
			}
		case atom.A:
			address, ok := get(n, "href")
			if !ok || strings.HasPrefix(address, "#") || strings.Contains(address, "://") {
				continue
			}
			file, fragment, _ := strings.Cut(address, "#")
			target := filepath.ToSlash(filepath.Join(filepath.Dir(filepath.FromSlash(at)), filepath.FromSlash(file)))
			if query, ok := queries[target]; ok {
				if fragment != "" {
					fragment = "#" + fragment
				}
				set(n, "href", "?"+query+fragment)
				continue
			}
			// Its words stay.
			n.Data, n.DataAtom, n.Attr = "span", atom.Span, nil
		}
	}
	for _, n := range gone {
		n.Parent.RemoveChild(n)
	}
}

func get(n *html.Node, name string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val, true
		}
	}
	return "", false
}

func set(n *html.Node, name, value string) {
	for i, a := range n.Attr {
		if a.Key == name {
			n.Attr[i].Val = value
			return
		}
	}
	n.Attr = append(n.Attr, html.Attribute{Key: name, Val: value})
}

func find(page *html.Node, tag atom.Atom) *html.Node {
	for n := range page.Descendants() {
		if n.DataAtom == tag {
			return n
		}
	}
	return nil
}

// element makes an element with a text and attributes, by name and value.
func element(tag atom.Atom, text string, attributes ...string) *html.Node {
	n := &html.Node{Type: html.ElementNode, Data: tag.String(), DataAtom: tag}
	for i := 0; i < len(attributes); i += 2 {
		set(n, attributes[i], attributes[i+1])
	}
	if text != "" {
		n.AppendChild(&html.Node{Type: html.TextNode, Data: text})
	}
	return n
}

// hashSource lets an inline script or style through a policy.
func hashSource(content string) string {
	sum := sha256.Sum256([]byte(content))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
