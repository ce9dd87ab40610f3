package webdriver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
)

// miniBrowser is the browser that comes with WebKitGTK, for its driver to start.
var miniBrowser = []string{"/usr/lib/*/webkit2gtk-4.1/MiniBrowser", "/usr/libexec/webkit2gtk-4.1/MiniBrowser", "/usr/lib*/webkit2gtk-4.1/MiniBrowser"}

// WebKit starts WebKitGTK on a screen that nobody sees; flags are the browser's.
func WebKit(flags ...string) (*Browser, error) {
	browser, err := found(miniBrowser...)
	if err != nil {
		return nil, err
	}
	var programs []string
	for _, name := range []string{"xvfb-run", "WebKitWebDriver"} {
		program, err := found(name)
		if err != nil {
			return nil, err
		}
		programs = append(programs, program)
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	b, err := start([]string{
		"WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS=1", // as root there is no other way
		"NO_AT_BRIDGE=1", // and no bus for it
	}, func(dir string) []string {
		return slices.Concat([]string{programs[0], "-a", "env", "HOME=" + dir, "XDG_CACHE_HOME=" + dir, "XDG_DATA_HOME=" + dir}, untilClosed, []string{programs[1], "--port=" + port})
	})
	if err != nil {
		return nil, err
	}
	d := &driver{root: "http://127.0.0.1:" + port}
	err = answering(func() error { return d.ask("GET", "/status", nil, nil) })
	if err == nil {
		b.wire = d
		var session struct{ SessionID string }
		err = d.ask("POST", "/session", map[string]any{"capabilities": map[string]any{"alwaysMatch": map[string]any{
			"timeouts":                 timeouts,
			"webkitgtk:browserOptions": map[string]any{"binary": browser, "args": append([]string{"--automation"}, flags...)},
		}}}, &session)
		d.root += "/session/" + session.SessionID
	}
	if err != nil {
		b.Close()
		return nil, fmt.Errorf("webkit: %w", err)
	}
	return b, nil
}

func freePort() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	listener.Close()
	return port, err
}

// driver is the wire of the specification: HTTP.
type driver struct{ root string }

// paths of the commands; {id} is a parameter.
var paths = map[string]string{
	"NavigateTo":         "/url",
	"ExecuteAsyncScript": "/execute/async",
	"FindElement":        "/element",
	"ElementSendKeys":    "/element/{id}/value",
}

func (d *driver) send(command string, parameters map[string]any, into any) error {
	path := paths[command]
	if id, ok := parameters["id"].(string); ok {
		path = strings.Replace(path, "{id}", id, 1)
	}
	return d.ask("POST", path, parameters, into)
}

func (d *driver) ask(method, path string, parameters map[string]any, into any) error {
	body, err := json.Marshal(parameters)
	if err != nil {
		return err
	}
	request, err := http.NewRequest(method, d.root+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var answer struct{ Value json.RawMessage }
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return fmt.Errorf("%s %s: %s: %w", method, path, response.Status, err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s", method, path, answer.Value)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(answer.Value, into)
}
