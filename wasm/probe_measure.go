//go:build js && wasm

package main

import (
	"syscall/js"
	"time"

	"vrametre/web/view"
)

// patience is how long a step of a measurement may take.
const patience = 20 * time.Second

// measurement allocates buffers one after the other.
type measurement struct {
	d        *document
	m        view.Measurement
	progress func(view.Measurement) bool
	device   js.Value
	lost     js.Func
	over     bool
}

// Measure asks the card for memory a step at a time, and stops at the first
// refusal, at the first loss, at the limit, or when progress says so. The
// memory goes back in every case: destroying the device is what returns it.
func (d *document) Measure(m view.Measurement, progress func(view.Measurement) bool) {
	run := &measurement{d: d, m: m, progress: progress}
	gpu := d.webgpu()
	if !gpu.Truthy() {
		run.finish(view.MeasureAbsent, "")
		return
	}
	failed := func(reason js.Value) { run.finish(view.MeasureFailed, word(reason)) }
	d.adapter(gpu, func(adapter js.Value) {
		if !adapter.Truthy() {
			run.finish(view.MeasureAbsent, "")
			return
		}
		thrown := attempt(func() {
			// Without asking, a device allows 256 MiB in a buffer whatever the card.
			largest := adapter.Get("limits").Get("maxBufferSize")
			run.m.Step = min(run.m.Step, int64(largest.Float()))
			await(adapter.Call("requestDevice", map[string]any{"requiredLimits": map[string]any{"maxBufferSize": largest}}), run.start, failed)
		})
		if thrown != nil {
			failed(thrown.Value)
		}
	}, failed)
}

// start begins once there is a device.
func (run *measurement) start(device js.Value) {
	run.device = device
	run.lost = js.FuncOf(func(js.Value, []js.Value) any {
		run.finish(view.MeasureLost, "")
		return nil
	})
	device.Get("lost").Call("then", run.lost)
	run.step()
}

// step asks for one more buffer.
func (run *measurement) step() {
	if run.over {
		return
	}
	if !run.progress(run.m) {
		run.finish(view.MeasureCancelled, "")
		return
	}
	if run.m.Got >= run.m.Cap {
		run.finish(view.MeasureReached, "")
		return
	}
	size := min(run.m.Step, run.m.Cap-run.m.Got) / 4 * 4
	got := run.m.Got
	run.d.After(patience, func() {
		if !run.over && run.m.Got == got {
			run.finish(view.MeasureFailed, "timeout")
		}
	})
	device := run.device
	failed := func(reason js.Value) { run.finish(view.MeasureFailed, word(reason)) }
	thrown := attempt(func() {
		device.Call("pushErrorScope", "out-of-memory")
		device.Call("pushErrorScope", "validation")
		const storageAndCopy = 0x80 | 0x8
		buffer := device.Call("createBuffer", map[string]any{"size": size, "usage": storageAndCopy})
		// Touch it: some drivers promise memory that they only take later.
		encoder := device.Call("createCommandEncoder")
		encoder.Call("clearBuffer", buffer)
		queue := device.Get("queue")
		queue.Call("submit", []any{encoder.Call("finish")})
		await(device.Call("popErrorScope"), func(invalid js.Value) {
			await(device.Call("popErrorScope"), func(full js.Value) {
				switch {
				case full.Truthy():
					run.finish(view.MeasureFull, "")
				case invalid.Truthy():
					run.finish(view.MeasureFailed, word(invalid))
				default:
					await(queue.Call("onSubmittedWorkDone"), func(js.Value) {
						if !run.over {
							run.m.Got += size
							run.d.After(0, run.step)
						}
					}, failed)
				}
			}, failed)
		}, failed)
	})
	if thrown != nil {
		failed(thrown.Value)
	}
}

// finish gives the memory back and tells the result, once.
func (run *measurement) finish(state, detail string) {
	if run.over {
		return
	}
	run.over = true
	if run.device.Truthy() {
		// The device's own loss, which this causes, finds the measurement over.
		attempt(func() { run.device.Call("destroy") })
	}
	run.m.State, run.m.Detail = state, detail
	run.progress(run.m)
}

// word is an error's name and message, on one line and short.
func word(reason js.Value) string {
	const most = 120
	text := "?"
	attempt(func() {
		if message := reason.Get("message"); message.Truthy() {
			text = message.String()
		} else {
			text = js.Global().Get("String").Invoke(reason).String()
		}
	})
	for i, r := range text {
		if r == '\n' || i >= most {
			return text[:i] + "…"
		}
	}
	return text
}
