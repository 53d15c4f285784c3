package host

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The name of a program may hold anything, and a line may be cut.
func TestParseProcess(t *testing.T) {
	line := "7 (a) S 1 2 (b)) S 3 9 0 0 -1 4194560 1 0 0 0 10 20 30 40 20 0 1 0 555 8192 77 18446744073709551615 1 1"
	got, ok := parseProcess([]byte(line))
	if want := (processLine{parent: 3, group: 9, ticks: 100, started: 555, pages: 77}); !ok || got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if _, ok := parseProcess([]byte(strings.Replace(line, "S 3", "Z 3", 1))); ok {
		t.Error("a zombie counts")
	}
	for i := range len(line) {
		parseProcess([]byte(line[:i]))
	}
}

// Only children of this process are told of: an id may have passed to a stranger.
func TestProcessTableKnowsItsOwn(t *testing.T) {
	var table processTable
	if p := table.of(1); p != nil {
		t.Errorf("of init: %+v", p)
	}
	if p := table.of(0); p != nil {
		t.Errorf("of none: %+v", p)
	}
	c := exec.Command("sleep", "600")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = c.Process.Kill(), c.Wait() }()
	table = processTable{}
	p := table.of(c.Process.Pid)
	if p == nil || p.Processes != 1 || p.Memory <= 0 || p.Started.IsZero() {
		t.Errorf("%+v", p)
	}
	if memory, ok := proportional(os.Getpid()); ok && memory < 1<<20 {
		t.Errorf("this process takes %d bytes", memory)
	}
}
