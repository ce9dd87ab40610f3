package build

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// run starts a program in dir with variables added to the environment and
// returns what it writes; its complaints are in the error.
func run(dir string, env []string, program string, args ...string) ([]byte, error) {
	return pipe(dir, env, nil, program, args...)
}

// pipe is run with an input.
func pipe(dir string, env []string, input []byte, program string, args ...string) ([]byte, error) {
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin = bytes.NewReader(input)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if errors.Is(err, exec.ErrNotFound) {
		return nil, fmt.Errorf("%s is not installed: the build needs Go, Node and make", program)
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", program, strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return out, nil
}

// Root finds the directory of this module, in which the build's sources lie.
func Root() (string, error) {
	out, err := run(".", nil, "go", "env", "GOMOD")
	if err != nil {
		return "", err
	}
	mod := strings.TrimSpace(string(out))
	content, err := os.ReadFile(mod)
	if err != nil || !strings.HasPrefix(string(content), "module vrametre\n") {
		return "", errors.New("the site is built from its sources: run this inside a clone of vramètre")
	}
	return filepath.Dir(mod), nil
}
