// Command program uses what the runtime keeps in its tables: stack frames, for
// the garbage collector and for panics, and names of functions.
package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
)

type tree struct {
	left, right *tree
	payload     []byte
}

func grow(depth int) *tree {
	if depth == 0 {
		return &tree{payload: make([]byte, 100)}
	}
	return &tree{left: grow(depth - 1), right: grow(depth - 1)}
}

func (t *tree) count() int {
	if t == nil {
		return 0
	}
	return 1 + t.left.count() + t.right.count()
}

func fails(depth int) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("recovered: %v", r)
		}
	}()
	if depth > 0 {
		return fails(depth - 1)
	}
	var none []int
	return fmt.Errorf("no panic, %d", none[len(os.Args)+3])
}

func deep(n int) int {
	var frame [200]byte
	if n == 0 {
		return int(frame[0])
	}
	return deep(n-1) + 1
}

func main() {
	kept := grow(10)
	for range 20 {
		grow(8)
		runtime.GC()
	}
	fmt.Println("tree", kept.count())
	fmt.Println("error", fails(5))
	var group sync.WaitGroup
	results := make(chan int, 8)
	for i := range 8 {
		group.Go(func() { results <- deep(3000 * (i + 1)) })
	}
	group.Wait()
	close(results)
	sum := 0
	for n := range results {
		sum += n
	}
	fmt.Println("stacks", sum)
	pc, file, line, ok := runtime.Caller(0)
	fmt.Println("caller", runtime.FuncForPC(pc).Name(), file == "?" && line == 0, ok)
	fmt.Println("frames", strings.Count(string(debug.Stack()), "main.main"))
	fmt.Println("wrapped", errors.Is(fmt.Errorf("x: %w", os.ErrNotExist), os.ErrNotExist))
	defer fmt.Println("deferred")
	panic("the end")
}
