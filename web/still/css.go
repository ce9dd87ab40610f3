package still

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

// rule is one selector of a style sheet with its declarations.
type rule struct {
	// compounds are the selector's parts, the element itself last; each is a tag
	// ("" for any) and classes.
	compounds []compound
	set       map[string]string
	weight    int
}

type compound struct {
	tag     string
	classes []string
}

// sheet is what a picture takes from the site's style sheets.
type sheet struct {
	rules   []rule
	colours map[string]string
}

var (
	comment     = regexp.MustCompile(`(?s)/\*.*?\*/`)
	block       = regexp.MustCompile(`([^{}]+)\{([^{}]*)\}`)
	variable    = regexp.MustCompile(`var\(--([a-z0-9-]+)\)`)
	colour      = regexp.MustCompile(`--([a-z0-9-]+):(#[0-9a-f]{6})`)
	mixed       = regexp.MustCompile(`color-mix\(in srgb,\s*(#[0-9a-f]{6}) (\d+)%,\s*(#[0-9a-f]{6})\)`)
	simple      = regexp.MustCompile(`^([a-z]*)((?:\.[a-zA-Z0-9-]+)*)$`)
	declaration = regexp.MustCompile(`([a-z-]+):([^;]+)`)
)

// parse reads the rules that a picture can follow: plain selectors, outside of
// any @media, with the colours of a light page.
func parse(css string) sheet {
	s := sheet{colours: map[string]string{}}
	css = comment.ReplaceAllString(css, "")
	plain := outsideMedia(css)
	for _, m := range colour.FindAllStringSubmatch(plain, -1) {
		if s.colours[m[1]] == "" {
			s.colours[m[1]] = m[2]
		}
	}
	for _, m := range block.FindAllStringSubmatch(plain, -1) {
		set := map[string]string{}
		for _, d := range declaration.FindAllStringSubmatch(s.resolve(m[2]), -1) {
			set[d[1]] = strings.TrimSuffix(strings.TrimSpace(d[2]), "!important")
		}
		if strings.ContainsAny(m[1], ":[(>+~*") { // a page's, not a picture's
			continue
		}
		for selector := range strings.SplitSeq(m[1], ",") {
			r := rule{set: set}
			for part := range strings.FieldsSeq(selector) {
				p := simple.FindStringSubmatch(part)
				if p == nil {
					r.compounds = nil
					break
				}
				c := compound{tag: p[1], classes: strings.FieldsFunc(p[2], func(r rune) bool { return r == '.' })}
				r.compounds = append(r.compounds, c)
				r.weight += 100 * len(c.classes)
				if c.tag != "" {
					r.weight++
				}
			}
			if r.compounds != nil {
				s.rules = append(s.rules, r)
			}
		}
	}
	slices.SortStableFunc(s.rules, func(a, b rule) int { return a.weight - b.weight })
	return s
}

// outsideMedia leaves out the blocks that begin with @.
func outsideMedia(css string) string {
	var kept strings.Builder
	for {
		i := strings.IndexByte(css, '@')
		if i < 0 {
			return kept.String() + css
		}
		kept.WriteString(css[:i])
		css = css[i:]
		depth, end := 0, len(css)
		for j := range len(css) {
			if css[j] == '{' {
				depth++
			} else if css[j] == '}' {
				if depth--; depth == 0 {
					end = j + 1
					break
				}
			}
		}
		css = css[end:]
	}
}

// resolve writes colours as such.
func (s sheet) resolve(value string) string {
	value = variable.ReplaceAllStringFunc(value, func(v string) string {
		if c := s.colours[variable.FindStringSubmatch(v)[1]]; c != "" {
			return c
		}
		return v
	})
	return mixed.ReplaceAllStringFunc(value, func(v string) string {
		m := mixed.FindStringSubmatch(v)
		share, _ := strconv.ParseFloat(m[2], 64)
		share /= 100
		out := "#"
		for i := 1; i < 7; i += 2 {
			a, _ := strconv.ParseUint(m[1][i:i+2], 16, 8)
			b, _ := strconv.ParseUint(m[3][i:i+2], 16, 8)
			out += fmt.Sprintf("%02x", int(math.Round(float64(a)*share+float64(b)*(1-share))))
		}
		return out
	})
}

// of is what the sheet says of an element.
func (s sheet) of(n *html.Node) map[string]string {
	set := map[string]string{}
	for _, r := range s.rules {
		if r.matches(n) {
			for property, value := range r.set {
				set[property] = value
			}
		}
	}
	return set
}

func (r rule) matches(n *html.Node) bool {
	last := len(r.compounds) - 1
	if !r.compounds[last].matches(n) {
		return false
	}
	n = n.Parent
	for i := last - 1; i >= 0; i-- {
		for n != nil && !r.compounds[i].matches(n) {
			n = n.Parent
		}
		if n == nil {
			return false
		}
		n = n.Parent
	}
	return true
}

func (c compound) matches(n *html.Node) bool {
	if n.Type != html.ElementNode || c.tag != "" && c.tag != n.Data {
		return false
	}
	has := strings.Fields(attribute(n, "class"))
	for _, class := range c.classes {
		if !slices.Contains(has, class) {
			return false
		}
	}
	return true
}
