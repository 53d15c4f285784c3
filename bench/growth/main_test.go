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
	const small = "^(servers|callers) .* (1|4|8)$|^(tools|ledger|first start|approvals) .* (10|100)$|^one change .* 1000$|^users .* (16|64)$|^sizes .* 1000$"
	if err := run([]string{"-rounds", "1", "-most", "1000", "-match", small, "-out", name}, &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range axes() {
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
	for _, args := range []string{"extra", "-nothing", "-match (", "-match none", "-rounds 0", "-limit 0s", "-most -1", "serve", "point {} x", "-limit 1ns"} {
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
