package browsertest

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"golang.org/x/image/webp"

	"vrametre/content"
	"vrametre/content/lesson"
	"vrametre/web/build"
)

var update = flag.Bool("update", false, "take the pictures of the site that its manifests show")

// mostOfPictures bounds all pictures together, in bytes: they are kept with the source.
const mostOfPictures = 400_000

// The pictures for the offer to install are there, as the manifests say. With
// -update they are taken.
func TestScreenshots(t *testing.T) {
	root := ""
	if *update {
		root = serve(t, "")
	}
	total := 0
	for _, shot := range build.Screenshots {
		for _, lang := range content.Langs {
			source := filepath.Join("..", "build", filepath.FromSlash(shot.File(lang)))
			if *update {
				take(t, root, shot, lang, source)
			}
			picture, err := os.ReadFile(source)
			if err != nil {
				t.Fatal(err)
			}
			total += len(picture)
			size, err := webp.DecodeConfig(bytes.NewReader(picture))
			if err != nil || size.Width != shot.Width || size.Height != shot.Height {
				t.Errorf("%s: %+v, %v", source, size, err)
			}
			if longer := 2.3 * float64(min(shot.Width, shot.Height)); float64(max(shot.Width, shot.Height)) > longer {
				t.Errorf("%s: browsers refuse pictures longer than 2.3 times their width", source)
			}
		}
	}
	if total > mostOfPictures {
		t.Errorf("the pictures take %d bytes, at most %d are allowed", total, mostOfPictures)
	}
}

// take takes a picture of a page at its start, in the light.
func take(t *testing.T, root string, shot build.Screenshot, lang content.Lang, file string) {
	address := root
	if lang != content.French {
		address += string(lang) + "/"
	}
	if shot.Page != lesson.Lesson {
		address += shot.Page + "/"
	}
	width, height := int64(shot.Width/shot.Scale), int64(shot.Height/shot.Scale)
	tab := opened(t, view{width: width, height: height, media: map[string]string{"prefers-color-scheme": "light", "prefers-reduced-motion": "reduce"}})
	call(tab, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: float64(shot.Scale), Mobile: shot.Form == "narrow"})
	tab.navigate(address)
	tab.awake()
	quality := int64(60)
	picture := call(tab, page.CaptureScreenshot, page.CaptureScreenshotParams{Format: "webp", Quality: &quality})
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, picture.Data, 0o644); err != nil {
		t.Fatal(err)
	}
}
