package webdriver

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// firefoxes are the names of the program, the long-lived release first.
var firefoxes = []string{"firefox-esr", "firefox", "/Applications/Firefox.app/Contents/MacOS/firefox"}

// quiet keeps Firefox from asking its makers for anything, and from looking up
// any other host: the tests' own is an address.
var quiet = map[string]string{
	"marionette.port":                                 "0", // any free one
	"network.dns.disabled":                            "true",
	"app.update.disabledForTesting":                   "true",
	"browser.shell.checkDefaultBrowser":               "false",
	"browser.startup.page":                            "0",
	"datareporting.policy.dataSubmissionEnabled":      "false",
	"datareporting.healthreport.uploadEnabled":        "false",
	"browser.safebrowsing.downloads.remote.enabled":   "false",
	"network.captive-portal-service.enabled":          "false",
	"network.connectivity-service.enabled":            "false",
	"services.settings.server":                        `"data:,"`,
	"toolkit.telemetry.reportingpolicy.firstRun":      "false",
	"dom.disable_beforeunload":                        "true",
	"security.sandbox.warn_unprivileged_namespaces":   "false",
	"browser.tabs.firefox-view":                       "false",
	"termsofuse.bypassNotification":                   "true",
	"browser.preonboarding.enabled":                   "false",
	"trailhead.firstrun.didSeeAboutWelcome":           "true",
	"browser.aboutwelcome.enabled":                    "false",
	"startup.homepage_welcome_url":                    `""`,
	"browser.newtabpage.activity-stream.feeds.places": "false",
}

// Firefox starts Firefox without a window on the screen; preferences are added
// to those of its profile, written as in JavaScript.
func Firefox(preferences map[string]string) (*Browser, error) {
	program, err := found(firefoxes...)
	if err != nil {
		return nil, err
	}
	var written error
	b, err := start([]string{"MOZ_HEADLESS=1"}, func(dir string) []string {
		var lines strings.Builder
		for _, list := range []map[string]string{quiet, preferences} {
			for name, value := range list {
				fmt.Fprintf(&lines, "user_pref(%q, %s);\n", name, value)
			}
		}
		written = os.WriteFile(filepath.Join(dir, "user.js"), []byte(lines.String()), 0o600)
		return append(untilClosed, program, "--headless", "--marionette", "--no-remote", "--profile", dir, "about:blank")
	})
	if err != nil {
		return nil, err
	}
	if written != nil {
		b.Close()
		return nil, written
	}
	var m *marionette
	err = answering(func() error {
		port, err := os.ReadFile(filepath.Join(b.dir, "MarionetteActivePort"))
		if err != nil {
			return err
		}
		m, err = dial("127.0.0.1:" + strings.TrimSpace(string(port)))
		return err
	})
	if err == nil {
		b.wire = m
		err = m.send("NewSession", map[string]any{"capabilities": map[string]any{"alwaysMatch": map[string]any{
			"timeouts": timeouts,
		}}}, nil)
	}
	if err != nil {
		b.Close()
		return nil, fmt.Errorf("firefox: %w", err)
	}
	return b, nil
}

// timeouts in milliseconds; the test's own deadline comes first.
var timeouts = map[string]any{"script": 120_000, "pageLoad": 120_000}

// marionette is Firefox's own wire: numbered messages in JSON, each after its
// length in bytes.
type marionette struct {
	conn net.Conn
	in   *bufio.Reader
	last int
}

func dial(address string) (*marionette, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	m := &marionette{conn: conn, in: bufio.NewReader(conn)}
	if _, err := m.receive(); err != nil { // it introduces itself
		return nil, err
	}
	return m, nil
}

// marionetteNames are the commands that have another name than in the specification.
var marionetteNames = map[string]string{"NavigateTo": "Navigate"}

func (m *marionette) send(command string, parameters map[string]any, into any) error {
	if name, ok := marionetteNames[command]; ok {
		command = name
	}
	if command == "ExecuteAsyncScript" {
		parameters["sandbox"] = nil // in the page itself
	}
	m.last++
	message, err := json.Marshal([]any{0, m.last, "WebDriver:" + command, parameters})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(m.conn, "%d:%s", len(message), message); err != nil {
		return err
	}
	frame, err := m.receive()
	if err != nil {
		return err
	}
	var answer [4]json.RawMessage
	if err := json.Unmarshal(frame, &answer); err != nil {
		return fmt.Errorf("%s: %w", frame, err)
	}
	var failure *struct{ Error, Message string }
	if err := json.Unmarshal(answer[2], &failure); err != nil {
		return err
	}
	if failure != nil {
		return fmt.Errorf("%s: %s", failure.Error, failure.Message)
	}
	if into == nil {
		return nil
	}
	value := struct{ Value json.RawMessage }{}
	if err := json.Unmarshal(answer[3], &value); err != nil {
		return err
	}
	return json.Unmarshal(value.Value, into)
}

func (m *marionette) receive() ([]byte, error) {
	var length int
	if _, err := fmt.Fscanf(m.in, "%d:", &length); err != nil {
		return nil, err
	}
	if length < 0 || length > 1<<26 {
		return nil, errors.New("a message of an impossible length")
	}
	message := make([]byte, length)
	_, err := io.ReadFull(m.in, message)
	return message, err
}
