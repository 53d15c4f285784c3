//go:build conformance && unix

package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A table is the contents of scenarios.json.
type table struct {
	Suite     string     `json:"suite"`
	Scenarios []scenario `json:"scenarios"`
}

type scenario struct {
	Name        string `json:"name"`
	Checks      int    `json:"checks"`      // least number of checks that succeed
	Core        bool   `json:"core"`        // part of the suite's own selection "core"
	Unsupported string `json:"unsupported"` // why the scenario is not run
}

func loadTable(t *testing.T) *table {
	t.Helper()
	data := assert.Value(os.ReadFile("scenarios.json"))(t)
	var tab table
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&tab); err != nil {
		t.Fatalf("scenarios.json: %v", err)
	}
	for _, s := range tab.Scenarios {
		if (s.Checks > 0) == (s.Unsupported != "") {
			t.Errorf("scenarios.json: %s needs either a number of checks or a reason for not running it", s.Name)
		}
	}
	return &tab
}

// A row of the report that ends the run.
type row struct {
	name         string
	passed, want int
	total        int
	took         time.Duration
	verdict      string
}

func TestScenarios(t *testing.T) {
	tab := loadTable(t)
	st := newSuite(t)

	if v := st.version(t); v != tab.Suite {
		t.Errorf("the suite is version %s, scenarios.json was written for %s", v, tab.Suite)
	}
	inTable := make(map[string]bool)
	for _, s := range tab.Scenarios {
		inTable[s.Name] = true
	}
	listed := st.list(t)
	for _, name := range listed {
		if !inTable[name] {
			t.Errorf("the suite has a scenario %s that scenarios.json does not list", name)
		}
		delete(inTable, name)
	}
	for name := range inTable {
		t.Errorf("scenarios.json lists %s, which the suite does not have", name)
	}

	rows := make([]row, len(tab.Scenarios))
	t.Run("scenario", func(t *testing.T) { // returns when all are over
		for i, s := range tab.Scenarios {
			rows[i] = row{name: s.Name, want: s.Checks, verdict: "FAIL"}
			if s.Unsupported != "" {
				rows[i] = row{name: s.Name, verdict: "not run: " + s.Unsupported}
				continue
			}
			t.Run(s.Name, func(t *testing.T) {
				t.Parallel()
				s.try(t, st, &rows[i])
			})
		}
	})
	report(rows)
}

// try runs one scenario.
func (s scenario) try(t *testing.T, st *suite, r *row) {
	start := time.Now()
	res := st.run(t, "--scenario", s.Name)
	r.took = time.Since(start)
	checks := res.checks(t, s.Name)
	r.passed, r.total = checks.count()
	if res.err != nil {
		t.Errorf("the suite ended with: %v", res.err)
	}
	for _, c := range checks.bad() {
		t.Errorf("%s %s: %s: %s", c.Status, c.ID, c.Description, c.ErrorMessage)
	}
	if r.passed < s.Checks {
		t.Errorf("%d checks succeeded, want at least %d", r.passed, s.Checks)
	}
	if t.Failed() {
		t.Logf("standard error of the client:\n%s", res.stderr(t, s.Name))
		return
	}
	r.verdict = "ok"
}

// TestCore runs the suite's own selection at once, in parallel, and makes sure
// that scenarios.json knows all of it.
func TestCore(t *testing.T) {
	tab := loadTable(t)
	st := newSuite(t)
	res := st.run(t, "--suite", "core")
	if res.err != nil {
		t.Errorf("the suite ended with: %v\n%s", res.err, res.output)
	}
	want := make(map[string]int)
	for _, s := range tab.Scenarios {
		if s.Core {
			want[s.Name] = s.Checks
		}
	}
	for _, name := range res.names(t) {
		least, ok := want[name]
		if !ok {
			t.Errorf("%s is part of core, but scenarios.json does not say so", name)
			continue
		}
		delete(want, name)
		checks := res.checks(t, name)
		if n, _ := checks.count(); n < least || len(checks.bad()) > 0 {
			t.Errorf("%s: %d checks succeeded, want at least %d and no other; client:\n%s", name, n, least, res.stderr(t, name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		t.Errorf("scenarios.json has %s in core, the suite did not run it", name)
	}
}

// TestRequirements runs what each revision of the protocol requires, as frozen
// at its release, and wants the suite to be content. What scenarios.json calls
// unsupported is let off, if the suite does not score it either.
func TestRequirements(t *testing.T) {
	tab := loadTable(t)
	st := newSuite(t)
	supported := make(map[string]bool)
	for _, s := range tab.Scenarios {
		supported[s.Name] = s.Unsupported == ""
	}
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			res := st.run(t, "--requirements", revision)
			names := res.names(t)
			if len(names) == 0 {
				t.Fatalf("the suite ran nothing: %v\n%s", res.err, res.output)
			}
			excused := 0
			for _, name := range names {
				if !supported[name] {
					excused++
					continue
				}
				checks := res.checks(t, name)
				if n, _ := checks.count(); n == 0 || len(checks.bad()) > 0 {
					t.Errorf("%s: %d checks succeeded, %v; client:\n%s", name, n, checks.bad(), res.stderr(t, name))
				}
			}
			if res.err != nil {
				t.Errorf("the suite ended with: %v\n%s", res.err, res.output)
			}
			t.Logf("%d scenarios, %d of them not supported", len(names), excused)
		})
	}
}

// TestIdleClientFails is the counter-check: a client that does nothing must not
// pass any scenario by the measure that TestScenarios uses.
func TestIdleClientFails(t *testing.T) {
	tab := loadTable(t)
	st := newSuite(t)
	st.client = "true"
	res := st.run(t, "--suite", "all")
	var exit *exec.ExitError
	if !errors.As(res.err, &exit) {
		t.Errorf("the suite ended with %v, want an exit status", res.err)
	}
	for _, s := range tab.Scenarios {
		if s.Unsupported != "" {
			continue
		}
		checks := res.checks(t, s.Name)
		if n, _ := checks.count(); n >= s.Checks && len(checks.bad()) == 0 {
			t.Errorf("%s: a client that does nothing passes with %d checks", s.Name, n)
		}
	}
}

func report(rows []row) {
	slices.SortFunc(rows, func(a, b row) int { return strings.Compare(a.name, b.name) })
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "scenario\tpassed/total\tleast\tms\t")
	ok, run := 0, 0
	for _, r := range rows {
		if r.want == 0 {
			fmt.Fprintf(w, "%s\t-\t-\t-\t%s\n", r.name, r.verdict)
			continue
		}
		run++
		if r.verdict == "ok" {
			ok++
		}
		fmt.Fprintf(w, "%s\t%d/%d\t%d\t%d\t%s\n", r.name, r.passed, r.total, r.want, r.took.Milliseconds(), r.verdict)
	}
	fmt.Fprintf(w, "%d of %d scenarios ok, %d not run\n", ok, run, len(rows)-run)
	w.Flush()
}

// A check is one entry of a checks.json.
type check struct {
	ID           string `json:"id"`
	Description  string `json:"description"`
	Status       string `json:"status"`
	ErrorMessage string `json:"errorMessage"`
}

type checkList []check

// count returns how many checks succeeded, and of how many that were judged.
func (l checkList) count() (passed, total int) {
	for _, c := range l {
		switch c.Status {
		case "SUCCESS":
			passed++
			total++
		case "FAILURE", "WARNING":
			total++
		}
	}
	return passed, total
}

func (l checkList) bad() []check {
	return slices.DeleteFunc(slices.Clone(l), func(c check) bool {
		return c.Status != "FAILURE" && c.Status != "WARNING"
	})
}

func (r *result) checks(t *testing.T, name string) checkList {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(r.folder(t, name), "checks.json"))
	if err != nil {
		t.Fatalf("%v; the suite said:\n%s", err, r.output)
	}
	var l checkList
	if err := json.Unmarshal(data, &l); err != nil {
		t.Fatalf("%s: checks.json: %v", name, err)
	}
	return l
}
