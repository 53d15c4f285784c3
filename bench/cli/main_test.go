package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The table has a row for each task, and another for what a cold call takes above the
// server alone.
func TestTable(t *testing.T) {
	out := filepath.Join(t.TempDir(), "CLI.md")
	cold := &task{name: "a cold call", timesAlone: []time.Duration{10 * time.Millisecond}}
	cold.times[belt] = []time.Duration{50 * time.Millisecond, 30 * time.Millisecond, 40 * time.Millisecond}
	tab := &table{options: &options{out: out}, tasks: []*task{cold}, sizes: map[string]int64{"plan9/386": 1_000_000}}
	cold.alone = []string{"server"}
	if err := tab.write(); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| a cold call | 40.0 | – | – |  |",
		"| its overhead over the server alone (10 ms) | 30.0 | – | – | ≤ 60 |",
		"| plan9/386 | 1.0 | ≤ 30 |",
	} {
		if got := string(page); !strings.Contains(got, want) {
			t.Errorf("got %s, want a line %s", got, want)
		}
	}
}
