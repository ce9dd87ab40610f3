package browsertest

import (
	"testing"

	cd "github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// Every control of a page can be reached with the Tab key alone, is seen when
// it is, outlined and under nothing, and lets go of the focus.
func TestKeyboardReachesEverything(t *testing.T) {
	root := serve(t, "")
	for _, page := range []struct {
		path string
		v    view
	}{
		{"", view{}},
		{"en/", view{width: 390, height: 844}},
		{workshop + "#v=1&m=layers&layers=Conv2d~3,+8,+3;ReLU", view{}},
		{oomPage, view{}},
	} {
		t.Run("/"+page.path, func(t *testing.T) {
			tab := open(t, root+page.path, page.v)
			// A group of radio buttons, or of numbers in a sentence, is one stop; arrows go on from there.
			stops := eval[int](tab, `(() => {
				const groups = new Set();
				const controls = [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]")].filter((e) => {
					if (!e.checkVisibility({visibilityProperty: true}) || e.disabled || e.tabIndex < 0 || e.closest("dialog")) return false;
					if (e.type !== "radio") return true;
					return !groups.has(e.name) && groups.add(e.name);
				});
				self.missed = new Set(controls.map((e) => e.type === "radio" ? e.name : e));
				return controls.length;
			})()`)
			const look = `(async () => {
				const e = document.activeElement;
				if (e === document.body) return "body";
				missed.delete(e.type === "radio" ? e.name : e);
				const name = e.tagName + "." + e.className + " " + (e.dataset.v ?? e.id) + " " + e.textContent.slice(0, 30);
				const { outlineStyle, outlineWidth } = getComputedStyle(e);
				if (outlineStyle === "none" || parseFloat(outlineWidth) < 2) return name + ": no outline";
				await new Promise(requestAnimationFrame);
				const boxes = [...e.getClientRects()];
				const seen = boxes.some((b) => {
					const [x, y] = [b.left + Math.min(b.width, innerWidth) / 2, Math.min(Math.max(b.top + b.height / 2, b.top + 2), b.bottom)];
					const at = document.elementFromPoint(x, y);
					return at && (e.contains(at) || at.contains(e) || at.closest("label")?.control === e);
				});
				return seen ? "" : name + ": not in sight at " + JSON.stringify(boxes[0]);
			})()`
			for range stops + 40 {
				if err := cd.Do(tab, cd.KeyEvent(kb.Tab)); err != nil {
					t.Fatal(err)
				}
				fault := eval[string](tab, look)
				if fault == "body" {
					break
				}
				if fault != "" {
					t.Error(fault)
				}
			}
			for _, missed := range eval[[]string](tab, `[...missed].filter((e) => e.isConnected ?? true).map((e) => e.outerHTML?.slice(0, 120) ?? e)`) {
				t.Errorf("never reached: %s", missed)
			}
			if stops < 30 {
				t.Errorf("%d stops", stops)
			}
		})
	}
}
