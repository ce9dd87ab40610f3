// Package readtest is what the tests of the file readers share: bounds on time and memory, and the Python that some of
// them compare with.
package readtest

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"vrametre/calc/fault"
)

// maxBytes bounds the memory of any reader, for any input up to 64 MiB.
const maxBytes = 64 << 20

// sampled is maxBytes as measure sees it: with a collection at every tenth of growth, a tenth of it can be garbage.
const sampled = maxBytes + maxBytes/10

// Bound runs a reader on hostile input: its error must be a *fault.Error, within the bound.
func Bound(t *testing.T, name string, read func() error) {
	t.Helper()
	if err := Within(t, name, read); err == nil {
		t.Errorf("%s: read without an error", name)
	}
}

// Within runs a reader on large input: within the bound it may understand it, or fail with a *fault.Error. The time is
// logged: on a busy machine it says nothing. Under js/wasm the collector runs too late for the sampled heap to mean what
// is held.
func Within(t *testing.T, name string, read func() error) (err error) {
	t.Helper()
	peak, took := measure(func() { err = read() })
	for range 4 { // what is sampled holds garbage too, more of it on a busy machine
		if peak <= sampled {
			break
		}
		again, _ := measure(func() { err = read() })
		peak = min(peak, again)
	}
	var f *fault.Error
	if err != nil && !errors.As(err, &f) {
		t.Errorf("%s: %v", name, err)
	}
	t.Logf("%-24s %6.1f MiB %v %v", name, float64(peak)/(1<<20), took.Round(time.Millisecond), err)
	if peak > sampled && runtime.GOOS != "js" {
		t.Errorf("%s: %d MiB", name, peak>>20)
	}
	return err
}

// measure gives the most heap that f holds beyond what was there before, sampled, and the time it takes.
func measure(f func()) (peak uint64, took time.Duration) {
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	sample := func() {
		runtime.ReadMemStats(&now)
		if now.HeapAlloc > before.HeapAlloc {
			peak = max(peak, now.HeapAlloc-before.HeapAlloc)
		}
	}
	done := make(chan bool)
	var wait sync.WaitGroup
	wait.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(2 * time.Millisecond):
				sample()
			}
		}
	})
	start := time.Now()
	f()
	took = time.Since(start)
	close(done)
	wait.Wait()
	sample()
	return peak, took
}

// Python is an interpreter with torch and torchvision, or "" where there is none; under CI=true there must be one.
// VRAMETRE_PYTHON names another.
func Python(t *testing.T) string {
	t.Helper()
	var tried []string
	for _, p := range []string{os.Getenv("VRAMETRE_PYTHON"), "/usr/bin/python3", "python3"} {
		if p == "" || runtime.GOOS == "js" {
			continue
		}
		out, err := exec.Command(p, "-c", "import torch, torchvision").CombinedOutput()
		if err == nil {
			return p
		}
		tried = append(tried, p+": "+strings.TrimSpace(string(out)))
	}
	if os.Getenv("CI") == "true" && runtime.GOOS != "js" {
		t.Fatalf("no Python with torch and torchvision:\n%s", strings.Join(tried, "\n"))
	}
	t.Log("no Python with torch and torchvision here: nothing is compared with it")
	return ""
}
