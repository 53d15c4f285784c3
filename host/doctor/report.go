package doctor

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/registry/gate"
)

// The stages of a test, see [TestReport].
const (
	testResolved    = "resolved"
	testSpawned     = "spawned"
	testConnected   = "connected"
	testInitialized = "initialized"
	testListed      = "listed"
)

// Values of [Tool].State.
const (
	toolListed      = "listed"      // it would be in the registry
	toolQuarantined = "quarantined" // the ledger would hold it back
	toolRejected    = "rejected"    // the registry would not take it
	toolFiltered    = "filtered"    // the entry does not use it
)

// A Tool is a tool that a server offers.
type Tool struct {
	// Name is what its server calls it.
	Name string `json:"name"`
	// RegisteredName is what it would be called here; empty if the entry does not use it.
	RegisteredName string `json:"registeredName,omitempty"`
	// State is what would become of it: "listed", it would be in the registry; "quarantined", the ledger
	// would hold it back; "rejected", the registry would not take it; "filtered", the entry does not use it.
	State string `json:"state"`
	// Reason says why models would not be told of it, in one sentence.
	Reason string `json:"reason,omitempty"`
	// Findings is what the gate sees in it, the severest first.
	Findings []gate.Finding `json:"findings,omitempty"`
}

// A TestReport is what a test of a server has shown. Its texts have no control
// characters and none of the entry's secrets, but they are a server's words: show
// them as such.
type TestReport struct {
	// Server is the name of the entry.
	Server string `json:"server"`
	// Success says that the server gave its list of tools. Look at Tools all the same:
	// the registry may take none of them.
	Success bool `json:"success"`
	// Reached is the last stage that was reached; empty if there was none. The stages are stable:
	// they may be stored and compared.
	//
	//	resolved     the entry can be used, and its program was found
	//	spawned      its process runs; a remote server has none
	//	connected    a local server has sent its first message; to a remote one there
	//	             is a connection, with TLS if its address says so
	//	initialized  the server and the client have agreed on a protocol
	//	listed       the server has said what its tools are
	Reached string `json:"reached,omitempty"`
	// Stages are those that were reached, in their order.
	Stages []string `json:"stages"`
	// TookSeconds is how long the test took, up to its success or failure.
	TookSeconds float64 `json:"tookSeconds"`
	// Protocol is the revision that was agreed on.
	Protocol string `json:"protocol,omitempty"`
	// Program and Version are what the server says that it is.
	Program string `json:"program,omitempty"`
	Version string `json:"version,omitempty"` // see Program
	// Tools are the server's tools, in its order; then those that were rejected.
	Tools []Tool `json:"tools"`
	// LoginURL is where the user can log in, if that is needed and was begun.
	LoginURL string `json:"loginUrl,omitempty"`
	// Stderr is the end of what a local server wrote to its standard error, at most
	// 8 KiB.
	Stderr string `json:"stderr,omitempty"`
	// StrayOutput are the first lines on its standard output that were no messages.
	StrayOutput []string `json:"strayOutput,omitempty"`
	// Error is what went wrong, as text; empty after success.
	Error string `json:"error,omitempty"`
	// Hints say what is probably the matter and how to cure it, the likeliest first.
	// There may be some after success.
	Hints []Hint `json:"hints,omitempty"`
	// Err is the error itself, for errors.Is and errors.As; nil after success. Its
	// text may hold anything.
	Err error `json:"-"`
}

// report tells what the probe has seen. Its connection has ended.
func (p *probe) report(ctx context.Context) *TestReport {
	clean, seen := newCleaner(p.entry), &p.seen
	r := &TestReport{
		Server:   p.entry.Name,
		Protocol: p.ready.ProtocolVersion,
		LoginURL: p.state.LoginURL,
		Tools:    p.testedTools(clean),
		Stages:   []string{},
		Stderr:   clean.text(string(seen.stderr)),
		Err:      seen.err,
	}
	if seen.err != nil && ctx.Err() != nil && errors.Is(context.Cause(ctx), errTestTime) {
		r.Err = errors.Join(seen.err, errTestTime)
	}
	if info := p.ready.Server; info != nil {
		r.Program, r.Version = clean.line(info.Name), clean.line(info.Version)
	}
	for _, line := range seen.strayOutput {
		r.StrayOutput = append(r.StrayOutput, clean.line(line))
	}
	for _, stage := range []string{testResolved, testSpawned, testConnected, testInitialized, testListed} {
		if seen.reached[stage] {
			r.Reached, r.Stages = stage, append(r.Stages, stage)
		}
	}
	r.Success = r.Err == nil && r.Reached == testListed
	r.TookSeconds = p.took.Seconds()
	if r.Err != nil {
		r.Error = clean.text(r.Err.Error())
	}
	r.Hints = p.hints(r, clean)
	return r
}

// testedTools tells what would become of each tool.
func (p *probe) testedTools(clean *cleaner) []Tool {
	tools := make([]Tool, 0, len(p.tools)+len(p.filtered))
	for _, l := range p.preview.Listed {
		t := Tool{Name: l.Tool.Origin.Tool, RegisteredName: l.Tool.Name, State: toolListed, Findings: l.Findings}
		if !l.Tool.ForModels() {
			t.Reason = "The server has it for its apps alone: models are not told of it."
		}
		tools = append(tools, t)
	}
	for _, q := range p.preview.Quarantined {
		tools = append(tools, quarantinedTool(q))
	}
	for _, t := range p.filtered {
		tools = append(tools, Tool{Name: t.Name, State: toolFiltered, Reason: "The entry's \"tools\" leave it out."})
	}
	order := make(map[string]int, len(p.order))
	for i, name := range p.order {
		order[name] = i
	}
	slices.SortStableFunc(tools, func(a, b Tool) int { return order[a.Name] - order[b.Name] })
	for _, rejected := range p.preview.Rejected {
		tools = append(tools, rejectedTool(rejected))
	}
	return cleanTools(tools, clean)
}

// A cleaner makes the words of servers fit to be shown: without what is secret in an
// entry or looks as if it were, and without what deceives a reader.
type cleaner struct{ mask func(string) string }

const (
	// cleanShortest is how short a value can be to be taken for a secret by its place, in bytes.
	// A shorter value, such as a number or a switch, occurs in any text.
	cleanShortest = 6
	// cleanLongest bounds a text, in bytes.
	cleanLongest = 16 << 10
)

func newCleaner(e *config.Server) *cleaner { return &cleaner{e.Masker(cleanShortest, "")} }

// text returns what may be shown of a text, with its line breaks.
func (c *cleaner) text(s string) string {
	s = plain.Text(c.mask(s))
	if len(s) > cleanLongest {
		s = strings.ToValidUTF8(s[:cleanLongest], "") + "…"
	}
	return s
}

// line is text for what has to stay on one line.
func (c *cleaner) line(s string) string { return plain.Line(c.text(s)) }
