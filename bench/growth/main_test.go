package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestMain lets this program be the processes that the tests start.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && slices.Contains([]string{rolePoint, roleServer, roleGateway, roleOAuth}, os.Args[1]) {
		if err := run(os.Args[1:], os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// TestRun measures the small points of all axes.
func TestRun(t *testing.T) {
	name := filepath.Join(t.TempDir(), "GROWTH.md")
	const small = "^(servers|callers) .* (1|4|8)$|^(tools|ledger|first start|approvals) .* (10|100)$|^one change .* 1000$|^users .* (16|64)$|^(clients|sessions) .* (100|1000)$|^gateway .* (1|8)$|^logins .* (1000|10000)$|^renewals .* 8$|^sizes .* 1000$"
	if err := run([]string{"-rounds", "1", "-most", "10000", "-match", small, "-out", name}, &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range axes() {
		if slices.Contains(a.subjects, inPostgres) && postgresProgram("initdb") == "" {
			continue
		}
		for _, subject := range a.subjects {
			if want := "| " + subject + " | "; !strings.Contains(string(text), want) {
				t.Errorf("%s: got no line of %q", a.name, subject)
			}
		}
		for _, figure := range a.plots {
			if want := "| " + figure + " | "; !strings.Contains(string(text), want) {
				t.Errorf("%s: got no figure %q, which is drawn", a.name, figure)
			}
		}
	}
	plots := regexp.MustCompile(`\]\((plots/.*\.svg)\)`).FindAllStringSubmatch(string(text), -1)
	if len(plots) < 10 {
		t.Errorf("got %d plots, want at least 10", len(plots))
	}
	for _, plot := range plots {
		svg, err := os.ReadFile(filepath.Join(filepath.Dir(name), plot[1]))
		if err != nil {
			t.Error(err)
		}
		if !bytes.Contains(svg, []byte("<svg")) {
			t.Errorf("%s: got no SVG", plot[1])
		}
	}
}

func TestRunRefuses(t *testing.T) {
	for _, args := range []string{"extra", "-nothing", "-page x", "-match (", "-match none", "-rounds 0", "-limit 0s", "-most -1", "serve", "point {} x", "-limit 1ns"} {
		if err := run(strings.Fields(args), &bytes.Buffer{}); err == nil {
			t.Errorf("growth %s: got no error", args)
		}
	}
}

func TestExponent(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []float64
		want   float64
	}{
		{"flat", []float64{9, 7, 7, 7}, 0},
		{"linear", []float64{50, 1, 10, 100}, 1},
		{"square", []float64{50, 1, 100, 10_000}, 2},
		{"one is zero", []float64{50, 0, 1, 10}, 1},
	} {
		s := series{sizes: []int{1, 10, 100, 1000}, values: c.values}
		if got, ok := s.exponent(); !ok || math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
	if got, ok := (series{sizes: []int{1, 10}, values: []float64{0, 5}}).exponent(); ok {
		t.Errorf("one size: got %v, want none", got)
	}
}

// TestTableShowsMedians writes three rounds of one axis, of which a point failed to be
// measured.
func TestTableShowsMedians(t *testing.T) {
	r := newResults(time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC))
	for _, v := range []float64{10, 1000, 20} {
		r.add(point{"servers", hostStdio, 1}, figures{"open, ms": v})
		r.add(point{"servers", hostStdio, 4}, figures{"open, ms": 4 * v})
	}
	var out bytes.Buffer
	if err := r.writeTable(&out); err != nil {
		t.Fatal(err)
	}
	const want = "\n| open, ms | host stdio | 20.0 | 80.0 |  |  | 1.00 |\n"
	if !strings.Contains(out.String(), want) {
		t.Errorf("got %s, want the line %q", out.String(), want)
	}
	if unwanted := "## Tools"; strings.Contains(out.String(), unwanted) {
		t.Errorf("got %q, want no axis that was not measured", unwanted)
	}
}

// TestTableExplainsSteepExponents writes figures that grow faster than their work: one with
// an explanation, one without, and one of the SDK.
func TestTableExplainsSteepExponents(t *testing.T) {
	r := newResults(time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC))
	for n, v := range map[int]float64{10: 1, 100: 100, 1_000: 10_000} {
		r.add(point{"tools", "registry", n}, figures{"next turn, µs": v, "another, ms": v, "flat, ms": 1})
	}
	for _, n := range []int{1, 4, 16} {
		r.add(point{"servers", sdkStdio, n}, figures{"open, ms": float64(n * n)})
	}
	var out bytes.Buffer
	if err := r.writeTable(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\n- next turn, µs, registry, 2.00: " + whyOf("tools", "registry", "next turn, µs") + "\n",
		"\n- another, ms, registry, 2.00: " + unexplained + "\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got %s, want the line %q", out.String(), want)
		}
	}
	if got := strings.Count(out.String(), "\n- "); got != 2 {
		t.Errorf("got %d explanations, want 2", got)
	}
}

// TestGrowthIsExplained reads what make growth has written, which has a mark where an
// exponent above 1.1 of this library has no explanation.
func TestGrowthIsExplained(t *testing.T) {
	text, err := os.ReadFile("../GROWTH.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, unexplained) {
			t.Errorf("GROWTH.md: got %q", line)
		}
	}
}

// TestPagesSayWhatIsKept makes GROWTH.md and the arithmetic of docs/scale.md from the figures that make growth has
// kept.
func TestPagesSayWhatIsKept(t *testing.T) {
	parts, err := readParts("../" + keptFile)
	if err != nil {
		t.Fatal(err)
	}
	all := resultsOf(parts)
	cost := all.constants()
	for _, c := range allConstants() {
		if cost[c.name] <= 0 {
			t.Errorf("%s: got %v, want what was measured", c.name, cost[c.name])
		}
	}
	for _, trend := range trends() {
		for _, key := range []string{trend.time.key(), trend.memory.key()} {
			if _, ok := cost[key]; !ok {
				t.Errorf("%s: got none, want what was measured", key)
			}
		}
	}
	page, err := os.ReadFile("../../docs/scale.md")
	if err != nil {
		t.Fatal(err)
	}
	want, err := replaceReach(page, newReach(cost).text())
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(page, want) {
		t.Error("docs/scale.md: got another arithmetic than the figures give, want that of make growth")
	}
	table, err := os.ReadFile("../GROWTH.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range axes() {
		for _, name := range all.figuresOf(a) {
			for _, s := range all.series(a, name) {
				if want := "| " + name + " | " + s.subject + " |" + s.cells(a.sizes) + "\n"; !strings.Contains(string(table), want) {
					t.Errorf("GROWTH.md: got no line %q", want)
				}
			}
		}
	}
}

// TestPartsAreMerged measures a part of what a file has.
func TestPartsAreMerged(t *testing.T) {
	r := newResults(time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC))
	for n, v := range map[int]float64{100: 20, 1_000: 29, 4_000: 59} {
		r.add(point{"clients", oldIdle, n}, figures{"resident, MB": v})
	}
	for _, v := range []float64{100, 150, 200} {
		r.add(point{"gateway", oldIdle, 512}, figures{"CPU per call, µs": v})
	}
	r.add(point{"gateway", oldIdle, 8}, figures{"CPU per call, µs": 90})
	r.rounds = 3
	dir := t.TempDir()
	text := `{"gateway": {"date": "2026-01-01", "rounds": 1, "points": {"2025-11-25": {"512": {"CPU per call, µs": 7}}}},
		"renewals": {"date": "2026-01-01", "rounds": 1, "points": {"PostgreSQL": {"32": {"renewals/s": 5}}}}}`
	if err := os.WriteFile(filepath.Join(dir, keptFile), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.writeFiles(filepath.Join(dir, "GROWTH.md"), ""); err != nil {
		t.Fatal(err)
	}
	parts, err := readParts(filepath.Join(dir, keptFile))
	if err != nil {
		t.Fatal(err)
	}
	got := resultsOf(parts).constants()
	for name, want := range map[string]float64{"client": 10, "call_cpu": 150, "renewals": 5, "session": 0} {
		if got[name] != want {
			t.Errorf("%s: got %v, want %v", name, got[name], want)
		}
	}
	for axis, want := range map[string]string{"gateway": "2026-11-24", "renewals": "2026-01-01"} {
		if got := parts[axis].Date; got != want {
			t.Errorf("%s: got %s, want %s", axis, got, want)
		}
	}
}

func TestAmount(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.05: "0.05", 7.004: "7", 555.6: "556", 1_500_000: "1,500,000", 66_666.7: "66,700"} {
		if got := amount(v); got != want {
			t.Errorf("%v: got %s, want %s", v, got, want)
		}
	}
}
