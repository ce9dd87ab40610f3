// Package webdriver drives Firefox and WebKitGTK with the few commands that
// the browser tests need. Both speak WebDriver: WebKitGTK over HTTP, through its
// driver; Firefox over the socket that it opens itself, where the same commands
// bear names.
package webdriver

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// ErrMissing says that a browser is not installed.
var ErrMissing = errors.New("not installed: make browsers finds or installs it")

// startTime is how long a browser may take to answer for the first time,
// endTime how long it may take to tidy up.
const startTime, endTime = time.Minute, 5 * time.Second

// Browser is a running browser with one window.
type Browser struct {
	wire wire
	// process is the browser or its driver, stop its input, dir what it writes.
	process *exec.Cmd
	stop    io.Closer
	dir     string
}

// wire sends a command by its name in the WebDriver specification, with
// spaces left out, and decodes the value of the answer.
type wire interface {
	send(command string, parameters map[string]any, into any) error
}

// Open loads an address and waits for its load event.
func (b *Browser) Open(address string) error {
	return b.wire.send("NavigateTo", map[string]any{"url": address}, nil)
}

// Run runs the body of an asynchronous function in the page and decodes what it
// returns; into may be nil.
func (b *Browser) Run(body string, into any) error {
	var answer struct {
		Value  json.RawMessage
		Thrown string
	}
	err := b.wire.send("ExecuteAsyncScript", map[string]any{
		"script": `const done = arguments[arguments.length - 1];
			(async () => {` + body + `})().then((value) => done({Value: value ?? null}), (thrown) => done({Thrown: String(thrown)}))`,
		"args": []any{},
	}, &answer)
	switch {
	case err != nil:
		return err
	case answer.Thrown != "":
		return errors.New(answer.Thrown)
	case into == nil:
		return nil
	}
	return json.Unmarshal(answer.Value, into)
}

// Type presses keys, one after the other, in the first element of a selector.
func (b *Browser) Type(selector, keys string) error {
	element := map[string]string{}
	if err := b.wire.send("FindElement", map[string]any{"using": "css selector", "value": selector}, &element); err != nil {
		return fmt.Errorf("%s: %w", selector, err)
	}
	for _, id := range element { // the one value is the element's reference
		return b.wire.send("ElementSendKeys", map[string]any{"id": id, "text": keys}, nil)
	}
	return fmt.Errorf("%s: no element", selector)
}

// Keys that no letter stands for.
const (
	ArrowRight = "\ue014"
	Home       = "\ue011"
)

// Close ends the browser and removes what it has written.
func (b *Browser) Close() {
	ended := make(chan error, 1)
	go func() { ended <- b.process.Wait() }()
	_ = b.stop.Close()
	select {
	case <-ended:
	case <-time.After(endTime):
		_ = syscall.Kill(-b.process.Process.Pid, syscall.SIGKILL)
	}
	_ = os.RemoveAll(b.dir)
}

// untilClosed is a command that runs another one until its input ends, even by
// the end of the test.
var untilClosed = []string{"sh", "-c", `"$@" & read -r _; kill $!; wait`, "sh"}

// start starts a command in a group of processes and a folder of its own, which
// must be ended by the end of its input.
func start(environment []string, command func(dir string) []string) (*Browser, error) {
	dir, err := os.MkdirTemp("", "vrametre-webdriver-")
	if err != nil {
		return nil, err
	}
	args := command(dir)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(append(os.Environ(), "TMPDIR="+dir), environment...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stop, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	return &Browser{process: cmd, stop: stop, dir: dir}, nil
}

// answering calls attempt until it succeeds, or the browser had time enough to start.
func answering(attempt func() error) error {
	deadline := time.Now().Add(startTime)
	for {
		err := attempt()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// found is the first program of the names and patterns.
func found(names ...string) (string, error) {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
		if files, err := filepath.Glob(name); err == nil && len(files) > 0 {
			return files[0], nil
		}
	}
	return "", fmt.Errorf("%s is %w", filepath.Base(names[0]), ErrMissing)
}
