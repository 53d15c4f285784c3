//go:build conformance && unix

package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/gateway"
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
	assert.OK(t, dec.Decode(&tab), "scenarios.json")
	for _, s := range tab.Scenarios {
		assert.True(t, (s.Checks > 0) != (s.Unsupported != ""), "scenarios.json: %s needs either a number of checks or a reason for not running it", s.Name)
	}
	return &tab
}

// A row of the report that ends the run.
type row struct {
	name                string
	passed, want, total int
	took                time.Duration
	verdict             string
}

func TestScenarios(t *testing.T) {
	tab := loadTable(t)
	st := newSuite(t)

	assert.Equal(t, st.version(t), tab.Suite)
	inTable := make(map[string]bool)
	for _, s := range tab.Scenarios {
		inTable[s.Name] = true
	}
	listed := st.list(t)
	for _, name := range listed {
		assert.True(t, inTable[name], "scenarios.json lists %s", name)
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
	assert.OK(t, res.err, "the suite ended with")
	for _, c := range checks.bad() {
		t.Errorf("%s %s: %s: %s", c.Status, c.ID, c.Description, c.ErrorMessage)
	}
	assert.True(t, r.passed >= s.Checks, "%d checks succeeded, of %d", r.passed, s.Checks)
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
	res := newSuite(t).run(t, "--suite", "core")
	assert.OK(t, res.err, "the suite ended with")
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
		n, _ := checks.count()
		assert.True(t, n >= least, "%s: %d checks are enough", name, n)
		assert.Equal(t, len(checks.bad()), 0, "%s", name)
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
				n, _ := checks.count()
				assert.True(t, n != 0, "%s: there are checks", name)
				assert.Equal(t, len(checks.bad()), 0, "%s", name)
			}
			assert.OK(t, res.err, "the suite ended with")
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
	assert.As[*exec.ExitError](t, res.err)
	for _, s := range tab.Scenarios {
		if s.Unsupported != "" {
			continue
		}
		checks := res.checks(t, s.Name)
		n, _ := checks.count()
		assert.True(t, n < s.Checks || len(checks.bad()) != 0, "%s: a client that does nothing fails (%d checks)", s.Name, n)
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
	data := assert.Value(os.ReadFile(filepath.Join(r.folder(t, name), "checks.json")))(t)
	var l checkList
	assert.OK(t, json.Unmarshal(data, &l), "%s: checks.json", name)
	return l
}

// everythingServer is the official SDK's server for this suite.
const everythingServer = "github.com/modelcontextprotocol/go-sdk/conformance/everything-server"

// explained are the checks that may end otherwise through a gateway than they do with the
// server itself, as scenario/check, and why.
var explained = map[string]string{
	"server-sse-polling/incoming-sse-event": "the server ends the stream of the answer and keeps no events, so that its answer is lost: the gateway says so with an error, where the server's own client hears nothing",
}

// TestGateway runs what each revision requires of a server, with the official SDK's server and with the
// same server through the gateway. What the server passes itself it has to pass through the gateway, and
// nothing may fail there that does not fail here.
func TestGateway(t *testing.T) {
	st := newSuite(t)
	program := build(t, t.TempDir(), everythingServer)
	var mu sync.Mutex
	used := map[string]bool{}
	t.Run("revision", func(t *testing.T) { // returns when all are over
		for revision, stateless := range map[string]bool{"2025-11-25": false, "2026-07-28": true} {
			t.Run(revision, func(t *testing.T) {
				t.Parallel()
				flag := fmt.Sprintf("-stateless=%t", stateless)
				var direct, through *result
				// Each has a server of its own: some scenarios change its lists.
				url := startServer(t, program, flag)
				behind := startGateway(t, startServer(t, program, flag), revision)
				var runs sync.WaitGroup
				runs.Go(func() { direct = st.runServer(t, url, "--requirements", revision) })
				runs.Go(func() { through = st.runServer(t, behind, "--requirements", revision) })
				runs.Wait()
				for kind, r := range map[string]*result{"directly": direct, "through the gateway": through} {
					assert.OK(t, r.err, "%s, the suite ended with", kind)
				}
				names := direct.names(t)
				assert.Equal(t, fmt.Sprintf("%q", through.names(t)), fmt.Sprintf("%q", names))
				passed := 0
				for _, name := range names {
					before, after := direct.checks(t, name), through.checks(t, name)
					n, _ := before.count()
					passed += n
					for _, id := range worse(before, after) {
						key := strings.TrimPrefix(name, "server-") + "/" + id
						if explained[key] == "" {
							t.Errorf("%s: got %v through the gateway, want %v", key, after.of(id), before.of(id))
							continue
						}
						mu.Lock()
						used[key] = true
						mu.Unlock()
					}
				}
				assert.True(t, passed >= len(names), "the server passes %d checks of %d scenarios", passed, len(names))
				t.Logf("%d scenarios, %d checks passed by the server and through the gateway", len(names), passed)
			})
		}
	})
	for key := range explained {
		assert.True(t, used[key], "the difference %s exists", key)
	}
}

// worse returns the ids of the checks that succeed less often in after than in before, or fail
// more often.
func worse(before, after checkList) []string {
	ids := map[string]bool{}
	for _, c := range slices.Concat(before, after) {
		ids[c.ID] = true
	}
	var bad []string
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		passed, judged := before.with(id).count()
		passedAfter, judgedAfter := after.with(id).count()
		if passedAfter < passed || judgedAfter-passedAfter > judged-passed {
			bad = append(bad, id)
		}
	}
	return bad
}

// with returns the checks of an id.
func (l checkList) with(id string) checkList {
	return slices.DeleteFunc(slices.Clone(l), func(c check) bool { return c.ID != id })
}

// of says how the checks of an id ended.
func (l checkList) of(id string) []string {
	var all []string
	for _, c := range l.with(id) {
		all = append(all, c.Status+" "+c.ErrorMessage)
	}
	return all
}

// startServer starts the everything server, and returns its URL when it accepts connections.
func startServer(t *testing.T, program, flag string) string {
	t.Helper()
	l := assert.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	addr := l.Addr().String()
	l.Close()
	cmd := exec.Command(program, "-http", addr, flag)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	assert.OK(t, cmd.Start())
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait() // killed
	})
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if c, err := net.Dial("tcp", addr); err == nil {
			c.Close()
			return "http://" + addr
		}
		select {
		case <-t.Context().Done():
			t.Fatalf("waited in vain for %s to listen", program)
		case <-tick.C:
		}
	}
}

// startGateway starts a gateway to the server at a URL, and returns the URL of its view of that server.
func startGateway(t *testing.T, url, revision string) string {
	t.Helper()
	config := filepath.Join(t.TempDir(), "mcp.json")
	data := assert.Value(json.Marshal(map[string]any{"mcpServers": map[string]any{"everything": map[string]string{"type": "http", "url": url}}}))(t)
	assert.OK(t, os.WriteFile(config, data, 0o600))
	o := &host.Options{StateDir: host.NoState, OpenWait: -1}
	gateway.Prepare(o)
	h := assert.Value(host.Open(t.Context(), config, o))(t)
	t.Cleanup(func() { h.Close() })
	for _, s := range h.Servers() {
		assert.OK(t, s.Err, "the server is not ready")
		assert.Equal(t, s.State.ProtocolVersion, revision)
	}
	g := assert.Value(gateway.New(h, &gateway.Options{Anonymous: true}))(t)
	t.Cleanup(func() { g.Close() })
	front := httptest.NewServer(g)
	t.Cleanup(front.Close)
	return front.URL + "/s/everything/mcp"
}
