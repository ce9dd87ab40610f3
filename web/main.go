// Command web builds and serves vramètre's site, and answers from the shell
// what the page answers in the browser.
package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"

	"vrametre/calc"
	webbuild "vrametre/web/build"
	"vrametre/web/site"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// errUsage asks run to print how the command is used.
var errUsage = errors.New("usage")

type command struct {
	name, arguments, summary string
	run                      func(args []string, stdin io.Reader, stdout io.Writer) error
}

var commands = []command{
	{"build", "DIR", "write the static site into DIR", build},
	{"serve", "[ADDR]", "build the site and serve it, on 127.0.0.1:8080 or a free port unless ADDR says otherwise", serve},
	{"size", "DIR", "report what a built site takes, and what each dependency costs in its wasm", size},
	{"estimate", "[-file MODEL]... < request.json", "answer one request, or many as JSON lines", estimate},
	{"explain", "[-lang fr|en] [-request JSON] [-file MODEL]... < message.txt", "say what an out-of-memory message means, for a network or for any", explain},
	{"gpu", "RENDERER", "list the cards that a renderer name or a PCI id can mean", lookup},
	{"presets", "", "list the models known by name", presets},
}

// run is the whole command; its result is the exit status.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) > 0 {
		for _, c := range commands {
			if c.name != args[0] {
				continue
			}
			err := c.run(args[1:], stdin, stdout)
			switch {
			case err == nil:
				return 0
			case errors.Is(err, errUsage):
				fmt.Fprintf(stderr, "usage: web %s %s\n", c.name, c.arguments)
				return 2
			}
			fmt.Fprintln(stderr, err)
			return 1
		}
	}
	w, status := stderr, 2
	if len(args) == 1 && (args[0] == "help" || args[0] == "-h" || args[0] == "--help") {
		w, status = stdout, 0
	}
	fmt.Fprintln(w, "usage: web COMMAND")
	for _, c := range commands {
		fmt.Fprintf(w, "  %s\n      %s\n", strings.TrimSpace(c.name+" "+c.arguments), c.summary)
	}
	return status
}

func build(args []string, _ io.Reader, _ io.Writer) error {
	if len(args) != 1 {
		return errUsage
	}
	return site.Build(args[0], site.Options{Small: true})
}

func size(args []string, _ io.Reader, stdout io.Writer) error {
	if len(args) != 1 {
		return errUsage
	}
	return webbuild.Size(stdout, args[0])
}

func presets(args []string, _ io.Reader, stdout io.Writer) error {
	if len(args) != 0 {
		return errUsage
	}
	for _, name := range calc.Presets() {
		fmt.Fprintln(stdout, name)
	}
	return nil
}

const defaultAddress = "127.0.0.1:8080"

func serve(args []string, _ io.Reader, stdout io.Writer) error {
	if len(args) > 1 {
		return errUsage
	}
	listener, err := listen(args) // an address that is taken is known before the build
	if err != nil {
		return err
	}
	defer listener.Close()
	dir, err := os.MkdirTemp("", "vrametre-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := site.Build(dir, site.Options{}); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "http://%s/\n", listener.Addr())
	server := http.Server{Handler: site.Handler(os.DirFS(dir))}
	interrupt := make(chan os.Signal, 1)
	signal.Notify(interrupt, os.Interrupt)
	go func() {
		<-interrupt
		server.Close()
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// listen takes the address asked for; without one, the usual port or any free one.
func listen(args []string) (net.Listener, error) {
	if len(args) == 1 {
		return net.Listen("tcp", args[0])
	}
	if listener, err := net.Listen("tcp", defaultAddress); err == nil {
		return listener, nil
	}
	return net.Listen("tcp", "127.0.0.1:0")
}
