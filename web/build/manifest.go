package build

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"vrametre/content"
	"vrametre/content/lesson"
	"vrametre/web/view"
)

// What makes the site an application that can be installed: icons, pictures of
// it, and a manifest for each language.

// Icons of the manifests, by pixels.
var iconSizes = []int{192, 512}

const touchIconSize = 180

// screenshots is the folder of the pictures that browsers show where they offer
// to install the site, here and in the site.
const screenshots = "screenshots"

// Screenshot is a picture of a page as a reader sees it.
type Screenshot struct {
	// Page is the page's name, Form the form factor that it is meant for.
	Page, Form string
	// Width and Height in pixels, Scale pixels for each of the page's.
	Width, Height, Scale int
}

// Screenshots are those of each language. TestScreenshots of web/browsertest
// takes them; a new one starts as an empty file.
var Screenshots = []Screenshot{
	{lesson.Lesson, "wide", 1280, 800, 1},
	{lesson.Workshop, "wide", 1280, 800, 1},
	{lesson.Lesson, "narrow", 780, 1560, 2},
	{lesson.OOM, "narrow", 780, 1560, 2},
}

// File is the picture's name in the site, for a language.
func (s Screenshot) File(lang content.Lang) string {
	return path.Join(screenshots, fmt.Sprintf("%s.%s.%s.webp", s.Page, s.Form, lang))
}

// application writes the icons, the pictures and the manifests.
func (s *Site) application() error {
	s.Icon, s.TouchIcon = "icon.svg", "icon-180.png"
	if err := s.write(s.Icon, iconSVG()); err != nil {
		return err
	}
	for _, side := range append([]int{touchIconSize}, iconSizes...) {
		icon, err := iconPNG(side)
		if err != nil {
			return err
		}
		if err := s.write(fmt.Sprintf("icon-%d.png", side), icon); err != nil {
			return err
		}
	}
	for _, lang := range content.Langs {
		for _, shot := range Screenshots {
			picture, err := os.ReadFile(filepath.Join(s.root, "web", "build", filepath.FromSlash(shot.File(lang))))
			if err != nil {
				return err
			}
			if err := s.write(shot.File(lang), picture); err != nil {
				return err
			}
		}
		manifest, err := webManifest(lang)
		if err != nil {
			return err
		}
		if err := s.write(s.Manifest(lang), manifest); err != nil {
			return err
		}
	}
	return nil
}

// Manifest is the name of the web manifest of a language.
func (s *Site) Manifest(lang content.Lang) string {
	return path.Join(folder(lang), "manifest.webmanifest")
}

// folder is where the pages of a language lie: French ones at the root.
func folder(lang content.Lang) string {
	if lang == content.French {
		return "."
	}
	return string(lang)
}

// manifest is a web manifest, with what this site says in one.
type manifest struct {
	Name        string          `json:"name"`
	ShortName   string          `json:"short_name"`
	Description string          `json:"description"`
	Lang        string          `json:"lang"`
	Dir         string          `json:"dir"`
	StartURL    string          `json:"start_url"`
	Scope       string          `json:"scope"`
	Display     string          `json:"display"`
	Background  string          `json:"background_color"`
	Theme       string          `json:"theme_color"`
	Icons       []manifestImage `json:"icons"`
	Screenshots []manifestImage `json:"screenshots"`
	Shortcuts   []shortcut      `json:"shortcuts"`
	Launch      launchHandler   `json:"launch_handler"`
	Files       []fileHandler   `json:"file_handlers"`
	Share       shareTarget     `json:"share_target"`
}

type manifestImage struct {
	Src     string `json:"src"`
	Sizes   string `json:"sizes"`
	Type    string `json:"type"`
	Purpose string `json:"purpose,omitempty"`
	Form    string `json:"form_factor,omitempty"`
	Label   string `json:"label,omitempty"`
}

type shortcut struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

type launchHandler struct {
	Mode []string `json:"client_mode"`
}

type fileHandler struct {
	Action string              `json:"action"`
	Accept map[string][]string `json:"accept"`
}

type shareTarget struct {
	Action  string            `json:"action"`
	Method  string            `json:"method"`
	Enctype string            `json:"enctype"`
	Params  map[string]string `json:"params"`
}

// webManifest describes the installed application. It has no id: an id is
// relative to the host's root, so copies of the site in two folders of one host
// would be one application; the default, the start address, keeps them apart.
//
// A shared text comes in the address, which the worker answers without asking
// the host: a form sent by POST would be refused where there is no worker yet.
func webManifest(lang content.Lang) ([]byte, error) {
	up, err := filepath.Rel(folder(lang), ".")
	if err != nil {
		return nil, err
	}
	up = "./" + strings.TrimPrefix(filepath.ToSlash(up)+"/", "./")
	text := func(key string) string { return view.Text(lang, key, nil) }
	page := func(name string) string {
		if name == lesson.Lesson {
			return "./"
		}
		return "./" + name + "/"
	}
	hex := fmt.Sprintf("#%02x%02x%02x", paper.R, paper.G, paper.B)
	m := manifest{
		Name: text("manifest.name"), ShortName: text("manifest.short_name"), Description: text("manifest.description"),
		Lang: string(lang), Dir: "ltr",
		StartURL: "./", Scope: up, Display: "standalone",
		Background: hex, Theme: hex,
		Icons:  []manifestImage{{Src: up + "icon.svg", Sizes: "any", Type: "image/svg+xml"}},
		Launch: launchHandler{[]string{"navigate-existing", "auto"}},
		Files:  []fileHandler{{page(lesson.Workshop), view.ModelFiles}},
		Share:  shareTarget{page(lesson.OOM), "GET", "application/x-www-form-urlencoded", map[string]string{"title": "title", "text": "text"}},
	}
	for _, side := range iconSizes {
		m.Icons = append(m.Icons, manifestImage{Src: fmt.Sprintf("%sicon-%d.png", up, side), Sizes: fmt.Sprintf("%dx%d", side, side), Type: "image/png"})
	}
	masked := m.Icons[len(m.Icons)-1]
	masked.Purpose = "maskable"
	m.Icons = append(m.Icons, masked)
	for _, s := range Screenshots {
		m.Screenshots = append(m.Screenshots, manifestImage{
			Src: up + s.File(lang), Sizes: fmt.Sprintf("%dx%d", s.Width, s.Height), Type: "image/webp", Form: s.Form, Label: text("page." + s.Page),
		})
	}
	for _, name := range []string{lesson.Lesson, lesson.Workshop, lesson.OOM} {
		m.Shortcuts = append(m.Shortcuts, shortcut{text("page." + name), page(name)})
	}
	return json.MarshalIndent(m, "", "  ")
}
