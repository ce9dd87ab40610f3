package piece

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"vrametre/content"
	"vrametre/web/view"
)

func TestNamesAreOneOfAKind(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range All {
		if seen[p.Name] || !regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`).MatchString(p.Name) {
			t.Errorf("%q is no name, or has been", p.Name)
		}
		seen[p.Name] = true
		if got, ok := Named(p.Name); !ok || got.Part != p.Part || Of(p.Page, p.Kind, p.Part) != p.Name {
			t.Errorf("%s is not found", p.Name)
		}
	}
	if _, ok := Named("nothing"); ok {
		t.Error("nothing is found")
	}
}

func TestTitles(t *testing.T) {
	scene, err := view.Compute(view.Default())
	if err != nil {
		t.Fatal(err)
	}
	for _, lang := range content.Langs {
		titles := map[string]bool{}
		for _, p := range All {
			title := p.Title(view.NewFigures(scene, lang))
			if titles[title] || title == "" || strings.ContainsAny(title, "{}") {
				t.Errorf("%s in %s is called %q", p.Name, lang, title)
			}
			titles[title] = true
		}
	}
}

// What an address says of its frame is kept, and nothing else.
func TestParameters(t *testing.T) {
	for _, c := range []struct{ fragment, want string }{
		{"#v=1&batch=64&hide=nav,table&lock=gpu&gpu=t4&theme=dark", "&hide=nav,table&lock=gpu&theme=dark"},
		{"v=1&batch=64", ""}, {"", ""}, {"weights", ""}, {"theme", ""}, {"id=3", "&id=3"},
	} {
		if got := Parameters(c.fragment); got != c.want {
			t.Errorf("%q: %q, want %q", c.fragment, got, c.want)
		}
	}
}

// The extension of Sphinx knows the same parts, and which have a picture.
func TestDirectiveKnowsTheParts(t *testing.T) {
	source, err := os.ReadFile("../sphinx/vrametre.py")
	if err != nil {
		t.Fatal(err)
	}
	table := func(name string) map[string]string {
		m := regexp.MustCompile(`(?s)\n` + name + ` = \{(.*?)\}`).FindSubmatch(source)
		if m == nil {
			t.Fatalf("no %s", name)
		}
		heights := map[string]string{}
		for _, pair := range regexp.MustCompile(`"([^"]+)": (\d+)`).FindAllSubmatch(m[1], -1) {
			heights[string(pair[1])] = string(pair[2])
		}
		return heights
	}
	pictured, others, questions := map[string]string{}, map[string]string{}, []string{}
	for _, p := range All {
		switch height := strconv.Itoa(p.Height); {
		case p.Pictured():
			pictured[p.Name] = height
		case p.Kind == Quiz:
			questions = append(questions, p.Name+" "+height)
		default:
			others[p.Name] = height
		}
	}
	var asked []string
	sections := regexp.MustCompile(`for section in \(([^)]*)\)`).FindSubmatch(source)
	height := regexp.MustCompile(`\nQUESTION = (\d+)`).FindSubmatch(source)
	for _, kind := range []string{"predict", "recall"} {
		for _, quoted := range regexp.MustCompile(`"([^"]+)"`).FindAllSubmatch(sections[1], -1) {
			asked = append(asked, kind+"-"+string(quoted[1])+" "+string(height[1]))
		}
	}
	if got := table("PICTURED"); !maps.Equal(got, pictured) {
		t.Errorf("PICTURED: %v, want %v", got, pictured)
	}
	if got := table("OTHERS"); !maps.Equal(got, others) {
		t.Errorf("OTHERS: %v, want %v", got, others)
	}
	slices.Sort(asked)
	slices.Sort(questions)
	if !slices.Equal(asked, questions) {
		t.Errorf("QUESTIONS: %v, want %v", asked, questions)
	}
}
