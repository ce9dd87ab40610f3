//go:build js && wasm

package main

import (
	"syscall/js"

	"vrametre/web/view"
)

// await calls done with what a promise resolves to, or failed with why it does
// not. What is no promise is its own answer.
func await(promise js.Value, done, failed func(js.Value)) {
	var resolved, rejected js.Func
	release := func() { resolved.Release(); rejected.Release() }
	answer := func(f func(js.Value)) js.Func {
		return js.FuncOf(func(_ js.Value, args []js.Value) any {
			release()
			value := js.Undefined()
			if len(args) > 0 {
				value = args[0]
			}
			f(value)
			return nil
		})
	}
	resolved, rejected = answer(done), answer(failed)
	js.Global().Get("Promise").Call("resolve", promise).Call("then", resolved, rejected)
}

// attempt calls f; what JavaScript throws in it is returned.
func attempt(f func()) (thrown *js.Error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case js.Error:
			thrown = &r
		case *js.ValueError: // a browser without what was asked of it
			thrown = &js.Error{Value: js.ValueOf(r.Error())}
		default:
			panic(r)
		}
	}()
	f()
	return nil
}

// webgpu is navigator.gpu; some browsers have the name and nothing behind it.
func (d *document) webgpu() js.Value {
	gpu := js.Undefined()
	attempt(func() { gpu = d.window.Get("navigator").Get("gpu") })
	return gpu
}

// Probe asks WebGL for its name, then WebGPU for its adapter: the one for heavy
// work, where a laptop has two.
func (d *document) Probe(done func(view.Probe)) {
	p := view.Probe{Asked: true, Secure: d.window.Get("isSecureContext").Truthy(), Opaque: d.opaque()}
	p.WebGL, p.Renderer = d.renderer()
	if memory := d.window.Get("navigator").Get("deviceMemory"); memory.Type() == js.TypeNumber {
		p.MemoryGiB = memory.Float()
	}
	gpu := d.webgpu()
	if p.API = gpu.Truthy(); !p.API {
		done(p)
		return
	}
	refused := func(js.Value) {
		p.Refused = true
		done(p)
	}
	d.adapter(gpu, func(adapter js.Value) {
		if adapter.Truthy() {
			read := view.Adapter{}
			if thrown := attempt(func() { read = readAdapter(adapter) }); thrown != nil {
				p.Refused = true
			} else {
				p.Adapter = &read
			}
		}
		done(p)
	}, refused)
}

// adapter asks for an adapter, which may be null.
func (d *document) adapter(gpu js.Value, done, failed func(js.Value)) {
	thrown := attempt(func() {
		await(gpu.Call("requestAdapter", map[string]any{"powerPreference": "high-performance"}), done, failed)
	})
	if thrown != nil {
		failed(thrown.Value)
	}
}

func (d *document) opaque() bool { return d.window.Get("origin").String() == "null" }

// renderer is the name that WebGL gives of the card.
func (d *document) renderer() (available bool, name string) {
	attempt(func() {
		canvas := d.root.Call("createElement", "canvas")
		gl := canvas.Call("getContext", "webgl")
		if !gl.Truthy() {
			return
		}
		available = true
		parameter := gl.Get("RENDERER")
		if info := gl.Call("getExtension", "WEBGL_debug_renderer_info"); info.Truthy() {
			parameter = info.Get("UNMASKED_RENDERER_WEBGL")
		}
		if told := gl.Call("getParameter", parameter); told.Type() == js.TypeString {
			name = told.String()
		}
		// A browser keeps few contexts: give this one back.
		if lose := gl.Call("getExtension", "WEBGL_lose_context"); lose.Truthy() {
			lose.Call("loseContext")
		}
	})
	return available, name
}

// readAdapter reads all that an adapter tells.
func readAdapter(adapter js.Value) view.Adapter {
	info := adapter.Get("info")
	if !info.Truthy() {
		info = js.Global().Get("Object").New()
	}
	word := func(name string) string {
		if v := info.Get(name); v.Type() == js.TypeString {
			return v.String()
		}
		return ""
	}
	a := view.Adapter{
		Vendor: word("vendor"), Architecture: word("architecture"), Device: word("device"), Description: word("description"),
		Fallback: info.Get("isFallbackAdapter").Truthy() || adapter.Get("isFallbackAdapter").Truthy(),
		Limits:   map[string]int64{},
	}
	limits := adapter.Get("limits")
	for _, name := range names(limits) {
		if v := limits.Get(name); v.Type() == js.TypeNumber {
			a.Limits[name] = int64(v.Float())
		}
	}
	// Behind a developer's flag only.
	if heaps := info.Get("memoryHeaps"); heaps.Truthy() {
		const deviceLocal = 1
		for i := range heaps.Length() {
			heap := heaps.Index(i)
			properties, size := heap.Get("properties"), heap.Get("size")
			if size.Type() == js.TypeNumber && properties.Type() == js.TypeNumber && properties.Int()&deviceLocal != 0 {
				a.HeapBytes = max(a.HeapBytes, int64(size.Float()))
			}
		}
	}
	return a
}

// names lists an object's properties, its own and those of its class.
func names(object js.Value) []string {
	if !object.Truthy() {
		return nil
	}
	var all []string
	builtin := js.Global().Get("Object")
	for _, o := range []js.Value{object, builtin.Call("getPrototypeOf", object)} {
		if !o.Truthy() || o.Equal(builtin.Get("prototype")) {
			continue
		}
		list := builtin.Call("getOwnPropertyNames", o)
		for i := range list.Length() {
			all = append(all, list.Index(i).String())
		}
	}
	return all
}

// WhenSeen calls f once, when an island comes into view.
func (d *document) WhenSeen(name string, f func()) {
	slot := d.root.Call("querySelector", `[data-island="`+name+`"]`)
	if !slot.Truthy() {
		return
	}
	var seen js.Func
	var observer js.Value
	seen = js.FuncOf(func(_ js.Value, args []js.Value) any {
		for i := range args[0].Length() {
			if args[0].Index(i).Get("isIntersecting").Bool() {
				observer.Call("disconnect")
				seen.Release()
				f()
				return nil
			}
		}
		return nil
	})
	observer = d.window.Get("IntersectionObserver").New(seen)
	observer.Call("observe", slot)
}

// rememberedAs is the name under which the reader's card is kept on this device.
const rememberedAs = "vrametre.card"

// Remembers says whether the browser keeps anything of this page.
func (d *document) Remembers() bool {
	return !d.opaque() && d.window.Get("navigator").Get("cookieEnabled").Truthy()
}

// Remembered is what is kept.
func (d *document) Remembered() (text string) {
	if d.frame != nil { // what a teacher shows is the same for every reader
		return ""
	}
	attempt(func() {
		if kept := d.window.Get("localStorage").Call("getItem", rememberedAs); kept.Type() == js.TypeString {
			text = kept.String()
		}
	})
	return text
}

// keptAs is the name under which a tab keeps the text of a model.
const keptAs = "vrametre.model"

// Keep keeps a text in this tab. A full or blocked storage keeps nothing.
func (d *document) Keep(text string) {
	attempt(func() {
		storage := d.window.Get("sessionStorage")
		storage.Call("removeItem", keptAs)
		if text != "" {
			storage.Call("setItem", keptAs, text)
		}
	})
}

// Kept is the text that this tab keeps.
func (d *document) Kept() (text string) {
	attempt(func() {
		if kept := d.window.Get("sessionStorage").Call("getItem", keptAs); kept.Type() == js.TypeString {
			text = kept.String()
		}
	})
	return text
}

// Remember keeps a text, or forgets it. A full or blocked storage keeps
// nothing: the address holds the choice all the same.
func (d *document) Remember(text string) {
	attempt(func() {
		storage := d.window.Get("localStorage")
		if text == "" {
			storage.Call("removeItem", rememberedAs)
		} else {
			storage.Call("setItem", rememberedAs, text)
		}
	})
}
