package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/paramheader"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/internal/schemagate"
)

// largeOutput is the size from which results are checked one at a time: what
// that takes for a moment can be many times as much.
const largeOutput = 256 << 10

// An OutputError reports a result of a tool that does not match the output
// schema of the tool. The tool has run, and the connection lives on.
//
//cure:take the result that it holds, or have skipOutputCheck in the entry; tell the author of the server
type OutputError struct {
	Server string          // name of the server, as configured
	Tool   string          // name of the tool
	Path   string          // where in the structured content, such as items[3].name, cut off if it is long; empty for the whole
	Result *CallToolResult // what the server answered, complete and unchanged
	Err    error           // what is wrong there, or with the schema itself
}

func (e *OutputError) Error() string {
	return plain.Text(fmt.Sprintf("mcp: server %q: the result of tool %q does not match the tool's output schema: %v", e.Server, e.Tool, e.Err))
}

func (e *OutputError) Unwrap() error { return e.Err }

// Outcome returns [Answered].
func (e *OutputError) Outcome() Outcome { return Answered }

// An outputSchema is the output schema of a tool, compiled when a result first
// needs it.
type outputSchema struct {
	raw  json.RawMessage
	once sync.Once
	gate *schemagate.Schema // nil: it cannot be used, and nothing is checked
}

// newOutputSchema returns nil for a tool that has none.
func newOutputSchema(t *Tool) *outputSchema {
	if t.OutputSchema == nil {
		return nil
	}
	return &outputSchema{raw: t.OutputSchema}
}

// check checks the structured content of a result.
func (s *outputSchema) check(content json.RawMessage, modern bool) error {
	switch {
	case content == nil:
		return errMissingOutput
	case content[0] != '{' && !modern:
		return errors.New("structuredContent is not an object")
	}
	return s.gate.Validate(content)
}

// errMissingOutput is the Err of an [*OutputError] about a result without structured content.
var errMissingOutput = errors.New("structuredContent is missing")

// maxListProblems is how many problems of one list are kept.
const maxListProblems = 100

// A ListProblem is an element of a server's list that was left out because it cannot be
// read. The others of the list are not affected.
type ListProblem struct {
	// Method is the request of the list: tools/list, resources/list,
	// resources/templates/list, prompts/list, skills/list or resources/directory/read.
	Method string
	// Path is the place on its page of the list, such as tools[3].
	Path string
	// Name is the name of the element, cut off if it is long and safe to print; empty
	// if it cannot be read either.
	Name string
	// Token names the kind of the problem. Tokens are stable: too_deep (nested deeper
	// than 128 levels), duplicate_key, invalid_utf8, or invalid for all else, such as
	// a missing name.
	Token string
	// Err says what is wrong.
	Err error
}

// A toolCache holds the tools as last listed. It is guarded by the client's lock, but for begun.
type toolCache struct {
	version  uint64 // State.ToolsVersion they were read at; 0: never
	tools    []*Tool
	byName   map[string]knownTool // nil: no list was read yet, nor one refused to check a result
	reading  uint64               // the one of begun that the tools are from
	source   *connection          // which they were read on
	stalest  freshness            // of the pages with a hint
	unhinted bool                 // there was a page without one

	begun atomic.Uint64 // how often the list was read, or begun to be read
}

// A knownTool is a tool as last listed, what its calls repeat in headers, and
// what its results are checked against.
type knownTool struct {
	*Tool
	headers []paramheader.Header
	output  *outputSchema // nil if the tool has none
}

// good reports whether the tools are good still, by what the server said. Without
// its word they are as long as it would announce other ones.
func (t *toolCache) good(conn *connection) bool {
	switch {
	case !conn.modern():
		return true
	case conn.changes.Load() != conn.listed.Load():
		return false // ToolsVersion may take a moment
	case t.unhinted && !conn.announcesTools():
		return false
	case t.stalest.hinted:
		return t.stalest.fresh()
	}
	return true
}

// maxTTL bounds how long an answer is used, whatever the server says.
const maxTTL = 24 * time.Hour

// A freshness says how long an answer may be used.
type freshness struct {
	received time.Time
	ttl      time.Duration // 0: it is stale at once
	hinted   bool          // the server said so, and not the lack of its word
}

// freshnessOf returns what a server says about an answer that just came. A hint
// that makes no sense is none.
func freshnessOf(result json.RawMessage) freshness {
	f := freshness{received: time.Now()}
	value := jsonscan.Member(result, "ttlMs")
	f.hinted = len(value) > 0 && !isNull(value) && millis(&f.ttl)(value) == nil
	f.ttl = min(f.ttl, maxTTL)
	return f
}

// until returns when the answer is stale.
func (f freshness) until() time.Time { return f.received.Add(f.ttl) }

// fresh reports whether the answer may be used still. The clock may have been set
// and the machine may have slept: whichever of its clocks says more counts.
func (f freshness) fresh() bool {
	return time.Since(f.received) < f.ttl && time.Now().Round(0).Before(f.until().Round(0))
}
