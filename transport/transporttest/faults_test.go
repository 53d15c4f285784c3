//go:build unix

package transporttest_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
)

const (
	// seedsVariable is the number of seeds of each cell.
	seedsVariable = "FAULT_SEEDS"
	// reportVariable names the file to which the results are written.
	reportVariable = "FAULT_REPORT"
	// reportFile is the one that is kept.
	reportFile = "../../docs/faults.json"
	// atOnce is how many cells of a row run at the same time.
	atOnce = 8
)

// A faultReport is what the file of results holds.
type faultReport struct {
	Seeds int      `json:"seeds"`
	Rows  []result `json:"rows"`
}

// A result is what came out of a row.
type result struct {
	ID    string `json:"id"`
	Fault string `json:"fault"`
	// NotApplicable is why the row has no cells.
	NotApplicable string `json:"notApplicable,omitempty"`
	// Cells counts the runs by wire and revision.
	Cells map[wire]map[string]int `json:"cells,omitempty"`
	// The next five count failures: calls or Close too late, untrue outcomes
	// and answers, clients that did not recover, disturbed neighbours, and
	// things left behind.
	Hangs         int `json:"hangs"`
	WrongOutcomes int `json:"wrongOutcomes"`
	NotHealed     int `json:"notHealed"`
	OthersHurt    int `json:"othersHurt"`
	Leaks         int `json:"leaks"`
	// WorstOverrunMS is by how much a call exceeded its deadline at most, in
	// milliseconds, without the time by which the machine was late.
	WorstOverrunMS float64 `json:"worstOverrunMs"`
}

// TestFaults runs each fault over each wire, in each revision, with some seeds,
// and checks that no call returns late, that what a caller is told is true, that
// the client recovers, that a neighbour is not disturbed, and that nothing is
// left behind.
func TestFaults(t *testing.T) {
	seeds := atoi(os.Getenv(seedsVariable))
	if seeds == 0 {
		t.Skip("takes minutes of a quiet machine: make faults")
	}
	// Finalizers would close what was forgotten.
	old := debug.SetGCPercent(-1)
	limit := debug.SetMemoryLimit(1 << 30)
	defer func() { debug.SetGCPercent(old); debug.SetMemoryLimit(limit) }()
	temp, ledgers := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", temp)
	m := &matrix{seeds: seeds, ledgers: ledgers, meter: startLagMeter()}
	defer m.meter.close()
	m.neighbours = startNeighbours(t, m)
	defer m.neighbours.close()
	report := faultReport{Seeds: seeds}
	for _, r := range table() {
		t.Run(r.id+" "+r.name, func(t *testing.T) { report.Rows = append(report.Rows, m.row(t, r)) })
	}
	if path := os.Getenv(reportVariable); path != "" && !t.Failed() {
		writeReport(t, path, report)
	}
}

// table returns the rows in the order of their ids.
func table() []row {
	rows := faults()
	slices.SortFunc(rows, func(a, b row) int {
		aMain, aSub, _ := strings.Cut(a.id, ".")
		bMain, bSub, _ := strings.Cut(b.id, ".")
		return cmp.Or(cmp.Compare(atoi(aMain), atoi(bMain)), cmp.Compare(atoi(aSub), atoi(bSub)))
	})
	return rows
}

func atoi(s string) int { n, _ := strconv.Atoi(s); return n }

// TestFaultReport checks that the kept results are those of this table.
func TestFaultReport(t *testing.T) {
	data := assert.Value(os.ReadFile(reportFile))(t)
	var kept faultReport
	assert.OK(t, json.Unmarshal(data, &kept))
	describe := func(r result) string { return fmt.Sprintf("%s %s %q %v", r.ID, r.Fault, r.NotApplicable, r.Cells) }
	var got, want []string
	for _, r := range kept.Rows {
		got = append(got, describe(r))
	}
	for _, r := range table() {
		want = append(want, describe(r.result(kept.Seeds)))
	}
	for _, row := range want {
		assert.True(t, slices.Contains(got, row), "%s has the row %s: run make faults", reportFile, row)
	}
	for _, row := range got {
		assert.True(t, slices.Contains(want, row), "%s has the row %s rightly: run make faults", reportFile, row)
	}
}

// result returns the empty result of a row.
func (r *row) result(seeds int) result {
	res := result{ID: r.id, Fault: r.name, NotApplicable: r.none}
	for _, w := range r.wires {
		for _, revision := range revisions(w) {
			if r.revision != "" && r.revision != revision {
				continue
			}
			if res.Cells == nil {
				res.Cells = map[wire]map[string]int{}
			}
			if res.Cells[w] == nil {
				res.Cells[w] = map[string]int{}
			}
			res.Cells[w][revision] = seeds
		}
	}
	return res
}

// A matrix runs rows.
type matrix struct {
	seeds      int
	ledgers    string
	meter      *lagMeter
	neighbours *neighbours
	cells      int
}

// row runs all cells of a row and takes stock before and after.
func (m *matrix) row(t *testing.T, r row) result {
	res := r.result(m.seeds)
	cookie := fmt.Sprintf("FAULT_COOKIE=%d.%d", os.Getpid(), m.cells)
	var cells []*cell
	for w, revisions := range res.Cells {
		for revision, n := range revisions {
			for seed := range n {
				m.cells++
				own := r
				c := &cell{row: &own, wire: w, cookie: cookie, meter: m.meter, plan: plan{Era: revision}, seed: seed,
					rng: rand.New(rand.NewPCG(uint64(seed), uint64(len(r.id)))), dir: filepath.Join(m.ledgers, strconv.Itoa(m.cells))}
				assert.OK(t, os.Mkdir(c.dir, 0o700))
				cells = append(cells, c)
			}
		}
	}
	before := settledStock()
	hurt := m.neighbours.failures()
	m.run(cells, &r)
	left := leaks(before, cookie)
	res.Leaks = len(left)
	for _, l := range left {
		t.Errorf("left behind: %s", l)
	}
	for _, failure := range m.neighbours.failures()[len(hurt):] {
		t.Errorf("a neighbour: %s", failure)
		res.OthersHurt++
	}
	var overrun time.Duration
	for _, c := range cells {
		overrun = max(overrun, c.overrun)
		for kind, count := range []*int{hang: &res.Hangs, wrong: &res.WrongOutcomes, unwell: &res.NotHealed} {
			*count += len(c.problems[kind])
			for _, p := range c.problems[kind] {
				t.Error(p)
			}
		}
	}
	res.WorstOverrunMS = float64(overrun.Microseconds()) / 1000
	return res
}

// run runs cells, some at a time.
func (m *matrix) run(cells []*cell, r *row) {
	turns := make(chan struct{}, atOnce)
	switch {
	case r.heavy:
		turns = make(chan struct{}, 2)
	case r.waits:
		turns = make(chan struct{}, 4*atOnce)
	}
	var wg sync.WaitGroup
	for _, c := range cells {
		turns <- struct{}{}
		wg.Go(func() { c.run(); <-turns })
	}
	wg.Wait()
}

func writeReport(t *testing.T, path string, report faultReport) {
	t.Helper()
	assert.OK(t, os.WriteFile(path, append(assert.Value(json.MarshalIndent(report, "", "\t"))(t), '\n'), 0o644))
}

// neighbours are servers without faults, one on each wire, that are called all
// the time.
type neighbours struct {
	stop context.CancelFunc
	wg   sync.WaitGroup
	mu   sync.Mutex
	bad  []string
}

func startNeighbours(t *testing.T, m *matrix) *neighbours {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	n := &neighbours{stop: stop}
	for _, w := range everyWire() {
		c := &cell{row: &row{id: "neighbour"}, wire: w, meter: m.meter, dir: t.TempDir(), plan: plan{Era: mcp.Revision20251125}}
		c.plan.Ledger = filepath.Join(c.dir, "ledger")
		world := assert.Value(newWorld(c))(t)
		client := mcp.NewClient("neighbour", world.transport, nil)
		assert.OK(t, client.Ready(t.Context()))
		n.call(ctx, client, w) // what is made once is made before stock is taken
		n.wg.Go(func() {
			defer world.close()
			defer func() { _ = client.Close() }()
			for ctx.Err() == nil {
				n.call(ctx, client, w)
			}
		})
	}
	return n
}

// call makes one call, and then waits a moment.
func (n *neighbours) call(ctx context.Context, client *mcp.Client, w wire) {
	within, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	if _, err := client.CallTool(within, "do", json.RawMessage(`{"nonce":"n"}`), nil); err != nil && ctx.Err() == nil {
		n.mu.Lock()
		n.bad = append(n.bad, fmt.Sprintf("%s: %v", w, err))
		n.mu.Unlock()
	}
	select {
	case <-time.After(10 * time.Millisecond):
	case <-ctx.Done():
	}
}

func (n *neighbours) failures() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.bad)
}

func (n *neighbours) close() {
	n.stop()
	n.wg.Wait()
}
