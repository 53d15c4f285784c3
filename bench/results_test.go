package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestRun measures all, for a moment, with all processes, and reads the file.
func TestRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "RESULTS.md")
	o, err := parseOptions([]string{"-rounds", "1", "-slot", "1ms", "-out", file})
	if err != nil {
		t.Fatal(err)
	}
	o.servers = 5
	if err := o.run(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range figures() {
		if n := strings.Count(string(data), "\n| "+f.title+" |"); n != 2 {
			t.Errorf("%q stands in %d tables, want 2", f.title, n)
		}
	}
	for line := range strings.Lines(string(data)) {
		for _, bad := range []string{"NaN", "Inf", "| 0 |", "unknown argument"} {
			if strings.Contains(line, bad) && !strings.HasPrefix(line, "| idle") { // the floor has no goroutine
				t.Errorf("the results contain %q: %s", bad, line)
			}
		}
	}
}

func TestRunRefuses(t *testing.T) {
	for _, args := range []string{"-match nothing", "-match [", "-peers nobody", "-rounds 0", "-slot -1s", "extra", "client nobody", "serve nothing"} {
		if err := run(strings.Fields(args)); err == nil {
			t.Errorf("bench %s: no error", args)
		}
	}
}

// TestTable gives two rounds, in which the ratios differ from the ratio of the
// medians, and one of which some figures are missing.
func TestTable(t *testing.T) {
	at := func(us int) cell {
		return cell{Calls: 10, Elapsed: time.Duration(10*us) * time.Microsecond, Mallocs: 130, Bytes: 20_000}
	}
	o, err := parseOptions([]string{"-peers", "floor,ours"})
	if err != nil {
		t.Fatal(err)
	}
	r := newResults(o, time.Now())
	r.rounds["stdio-50"] = []round{{"floor": {More: map[string]float64{"goroutines": 0}}, "ours": {More: map[string]float64{"goroutines": 2}}}}
	r.rounds["stdio-small"] = []round{
		{"floor": at(10), "ours": at(15)},
		{"floor": at(30), "ours": at(33)},
		{"floor": at(10), "ours": at(19)},
	}
	var out bytes.Buffer
	if err := r.writeTable(&out); err != nil {
		t.Fatal(err)
	}
	const want = `| measure | floor | ours | ours / floor |
|---|--:|--:|--:|
| stdio, small answer, mean µs | 10 | 19 | 1.50 |
| allocations per small call, stdio | 13 | 13 | 1.00 |
| KB allocated per small call, stdio | 2 | 2 | 1.00 |
| connect 50 stdio servers at once, ms | – | – | – |
| close 50 stdio servers at once, ms | – | – | – |
| idle stdio server, goroutines | 0 | 2 | – |
| idle stdio server, live heap KB | – | – | – |
| idle stdio server, RSS KB | – | – | – |

`
	if out.String() != want {
		t.Errorf("wrote\n%swant\n%s", out.String(), want)
	}
}

func TestSpread(t *testing.T) {
	if got, want := spreadOf([]float64{9, 1, 4}), (spread{1, 4, 9}); got != want {
		t.Errorf("odd: %v, want %v", got, want)
	}
	if got, want := spreadOf(nil).span(), noFigure; got != want {
		t.Errorf("none: got %s, want %s", got, want)
	}
	if got, want := spreadOf([]float64{9, 1, 4, 6}), (spread{1, 5, 9}); got != want {
		t.Errorf("even: %v, want %v", got, want)
	}
}

func TestShort(t *testing.T) {
	for v, want := range map[float64]string{
		0.0962: "0.096", 1.234: "1.2", 9.999: "10", 45.123: "45.1", 99.97: "100", 1234.4: "1234", 9999: "10.0k", 42_345: "42.3k", 99_960: "100k", 570_123: "570k",
	} {
		if got := short(v); got != want {
			t.Errorf("short(%g) is %s, want %s", v, got, want)
		}
	}
}
