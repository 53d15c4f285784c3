package layers

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

const (
	faultsBegin = "<!-- Written by make faults from docs/faults.json. -->\n"
	faultsEnd   = "<!-- End of what make faults writes. -->\n"
)

// A faultRun is docs/faults.json: what the test of faults found.
type faultRun struct {
	Seeds int
	Rows  []faultRow
}

type faultRow struct {
	ID            string
	Fault         string
	NotApplicable string
	Cells         map[string]map[string]int // by transport and revision

	Hangs, WrongOutcomes, NotHealed, OthersHurt, Leaks int

	WorstOverrunMs float64
}

func (r *faultRow) failures() int {
	return r.Hangs + r.WrongOutcomes + r.NotHealed + r.OthersHurt + r.Leaks
}

// cell says how often the fault ran over a transport.
func (r *faultRow) cell(transport string) string {
	n := 0
	for _, seeds := range r.Cells[transport] {
		n += seeds
	}
	switch {
	case n == 0:
		return "–"
	case r.failures() > 0:
		return fmt.Sprintf("%d ✗", n)
	}
	return fmt.Sprintf("%d ✓", n)
}

// faultTable writes the part of docs/faults.md that the results make.
func faultTable(run faultRun) string {
	var b strings.Builder
	cells, worst := 0, 0.0
	var sum faultRow
	rows := ""
	for _, r := range run.Rows {
		if r.NotApplicable != "" {
			continue
		}
		for _, revisions := range r.Cells {
			for _, n := range revisions {
				cells += n
			}
		}
		sum.Hangs += r.Hangs
		sum.WrongOutcomes += r.WrongOutcomes
		sum.NotHealed += r.NotHealed
		sum.OthersHurt += r.OthersHurt
		sum.Leaks += r.Leaks
		worst = max(worst, r.WorstOverrunMs)
		rows += fmt.Sprintf("| %s | %s | %s | %s | %s |\n", r.ID, r.Fault, r.cell("stdio"), r.cell("http"), r.cell("sse"))
	}
	fmt.Fprintf(&b, "%d runs with %d seeds under the race detector: %d hangs, %d wrong outcomes, %d clients that did not recover, %d disturbed neighbours, "+
		"%d leaks. No call returned later than %.0f ms after its deadline and the machine's own lateness.\n\n", cells, run.Seeds, sum.Hangs, sum.WrongOutcomes, sum.NotHealed, sum.OthersHurt, sum.Leaks, worst)
	b.WriteString("| | fault | stdio | HTTP | SSE |\n|---|---|--:|--:|--:|\n" + rows)
	if absent := notApplicable(run); absent != "" {
		b.WriteString("\nNot run: " + absent + ".\n")
	}
	return b.String()
}

// notApplicable names the rows without cells, those with the same reason together.
func notApplicable(run faultRun) string {
	var reasons []string
	names := map[string][]string{}
	for _, r := range run.Rows {
		if r.NotApplicable == "" {
			continue
		}
		if !slices.Contains(reasons, r.NotApplicable) {
			reasons = append(reasons, r.NotApplicable)
		}
		names[r.NotApplicable] = append(names[r.NotApplicable], r.Fault)
	}
	for i, reason := range reasons {
		reasons[i] = strings.Join(names[reason], ", ") + " (" + reason + ")"
	}
	return strings.Join(reasons, "; ")
}

// TestFaultTable checks that the table of docs/faults.md is what docs/faults.json gives,
// and that these are no failures. With -update it writes the table.
func TestFaultTable(t *testing.T) {
	data := assert.Value(os.ReadFile(filepath.Join(root, "docs", "faults.json")))(t)
	var run faultRun
	assert.OK(t, json.Unmarshal(data, &run))
	for _, r := range run.Rows {
		assert.Equal(t, r.failures(), 0, "docs/faults.json: row %s, %s: failures", r.ID, r.Fault)
		assert.True(t, (r.NotApplicable == "") != (len(r.Cells) == 0), "docs/faults.json: row %s, %s, needs either cells or a reason", r.ID, r.Fault)
	}
	page := filepath.Join(root, "docs", "faults.md")
	text := assert.Value(os.ReadFile(page))(t)
	got, want, ok := replaceFaultTable(string(text), faultTable(run))
	switch {
	case !ok:
		t.Errorf("docs/faults.md has no place for the table: the lines\n%s%s", faultsBegin, faultsEnd)
	case *update && got != want:
		assert.OK(t, os.WriteFile(page, []byte(want), 0o644))
	case got != want:
		t.Error("the table of faults in docs/faults.md is not what docs/faults.json gives: run make faults")
	}
}

// replaceFaultTable puts the table between its marks.
func replaceFaultTable(text, table string) (before, after string, ok bool) {
	after, ok = replaceBetween(text, faultsBegin, faultsEnd, table)
	return text, after, ok
}

// replaceBetween puts a table between two lines of a text that mark its place.
func replaceBetween(text, begin, end, table string) (after string, ok bool) {
	head, rest, begins := strings.Cut(text, begin)
	_, tail, ends := strings.Cut(rest, end)
	return head + begin + "\n" + table + "\n" + end + tail, begins && ends
}

func TestFaultTableShowsFailures(t *testing.T) {
	run := faultRun{Seeds: 20, Rows: []faultRow{
		{ID: "1", Fault: "exits", Cells: map[string]map[string]int{"stdio": {"a": 20, "b": 20}}, WorstOverrunMs: 12.4},
		{ID: "2", Fault: "hangs", Cells: map[string]map[string]int{"http": {"a": 20}, "sse": {"a": 20}}, Hangs: 3},
		{ID: "3", Fault: "burns", NotApplicable: "no fire"},
		{ID: "4", Fault: "smokes", NotApplicable: "no fire"},
	}}
	table := faultTable(run)
	for _, want := range []string{
		"80 runs with 20 seeds", "3 hangs, 0 wrong", "later than 12 ms",
		"| 1 | exits | 40 ✓ | – | – |\n", "| 2 | hangs | – | 20 ✗ | 20 ✗ |\n", "Not run: burns, smokes (no fire).",
	} {
		assert.Contains(t, table, want)
	}
	text := "a\n" + faultsBegin + "old\n" + faultsEnd + "b\n"
	_, got, ok := replaceFaultTable(text, "new\n")
	assert.True(t, ok && got == "a\n"+faultsBegin+"\nnew\n\n"+faultsEnd+"b\n", "%v %q", ok, got)
	_, _, ok = replaceFaultTable("a\n", "new\n")
	assert.False(t, ok, "a place in a text without marks")
}
