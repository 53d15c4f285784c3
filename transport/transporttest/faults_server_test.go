//go:build unix

package transporttest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// A plan says how a victim misbehaves. It travels to a child process as JSON.
type plan struct {
	Deed   string // what it does; empty for a sound server
	Hit    int    // with which call, counted from 1 over all lives; zero for none
	Again  bool   // and with each call after that
	At     int    // where in the answer, in thousandths
	Stream bool   // streamable HTTP answers with event streams
	Era    string // revision that it speaks
	Ledger string // file that notes what happened to each call
}

// A ledger is the truth about the calls of a server: a file with one line for
// each thing that happened, written before anybody is told.
//
//	got NONCE      the call arrived
//	hit NONCE      it is one that the plan is about
//	ran NONCE      it was run
//	refused NONCE  it was refused without being run
type ledger struct{ file *os.File }

func openLedger(path string) (*ledger, error) {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	return &ledger{file}, err
}

// note writes lines about a call at once: the victim may be killed after each write.
func (l *ledger) note(about string, what ...string) {
	var lines strings.Builder
	for _, w := range what {
		fmt.Fprintf(&lines, "%s %s\n", w, about)
	}
	_, _ = l.file.WriteString(lines.String())
}

// readLedger returns how often each thing happened, by its line.
func readLedger(path string) map[string]int {
	data, _ := os.ReadFile(path)
	lines := map[string]int{}
	for line := range strings.Lines(string(data)) {
		lines[strings.TrimSuffix(line, "\n")]++
	}
	return lines
}

// An outlet is the way on which a victim answers one request: bytes on a wire.
// Whoever writes more than one piece holds its lock.
type outlet interface {
	sync.Locker
	// frame returns a message as it stands on the wire.
	frame(message string) string
	// raw writes bytes, at once.
	raw(bytes string) error
	// cut ends the connection; with reset, without letting the rest arrive.
	cut(reset bool)
	// gone is closed when the client has left. It is nil where the end of the
	// client ends the process.
	gone() <-chan struct{}
}

// A decider is an outlet for which it is decided first whether the request is
// accepted. A refusal answers it in HTTP.
type decider interface {
	decide(refusal http.HandlerFunc)
}

// A victim is an MCP server that keeps a plan.
type victim struct {
	plan         plan
	ledger       *ledger
	stopsReading atomic.Bool // it reads no further request
	turned       atomic.Bool // it was replaced by a server of the other revision
	closed       atomic.Bool // it answers no further tools/list
	posts        sync.WaitGroup
	forget       http.HandlerFunc // ends all sessions and says so
	freeze       func()           // makes the network stop to carry anything
	canary       string           // URL on another origin, to which it redirects

	mu      sync.Mutex
	calls   int
	asked   int
	asks    map[string]chan struct{} // of the client, by id; closed with the answer
	changes int                      // of the list of tools
	served  int                      // calls in this life
}

func newVictim(p plan) (*victim, error) {
	book, err := openLedger(p.Ledger)
	if err != nil {
		return nil, err
	}
	v := &victim{plan: p, ledger: book, asks: map[string]chan struct{}{}}
	for line, n := range readLedger(p.Ledger) {
		if strings.HasPrefix(line, "got ") {
			v.calls += n
		}
		if strings.HasPrefix(line, "hit ") {
			v.turned.Store(p.Deed == "turn")
			v.closed.Store(p.Deed == "unreadable")
		}
	}
	return v, nil
}

// serve handles one message of the client.
func (v *victim) serve(line []byte, o outlet) {
	m, err := jsonscan.Scan(line)
	switch {
	case err != nil || m.ID == nil:
		return
	case m.Method == "":
		v.mu.Lock()
		defer v.mu.Unlock()
		if asked := v.asks[string(m.ID)]; asked != nil {
			close(asked)
			delete(v.asks, string(m.ID))
		}
		return
	}
	switch m.Method {
	case "tools/call":
		v.call(string(m.ID), m.Params, o)
	case "tools/list":
		if v.closed.Load() {
			<-o.gone()
			return
		}
		v.sendList(string(m.ID), m.Params, o)
	case "ping":
		v.send(o, answer(string(m.ID), `{}`))
	default:
		v.send(o, v.handshake(string(m.ID), m.Method))
	}
}

func (v *victim) handshake(id, method string) string {
	listens := ""
	if v.plan.Deed == "storm" || v.plan.Deed == "pages" || v.plan.Deed == "unreadable" {
		listens = `"listChanged":true`
	}
	switch {
	case method == "initialize" && v.revision() == mcp.Revision20251125:
		return answer(id, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"victim","version":"1"}}`)
	case method == "server/discover" && v.revision() == mcp.Revision20260728:
		return answer(id, `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{`+listens+`}},`+
			`"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"victim","version":"1"}}}`)
	}
	return failure(id, -32601, "method not found")
}

// revision returns the one that the victim speaks now.
func (v *victim) revision() string {
	switch {
	case !v.turned.Load():
		return v.plan.Era
	case v.plan.Era == mcp.Revision20251125:
		return mcp.Revision20260728
	}
	return mcp.Revision20251125
}

func answer(id, result string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"result":` + result + `}`
}

func failure(id string, code int, text string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, id, code, text)
}

// done is the answer to a call that was run.
func done(id, nonce string) string { return answer(id, doneResult(nonce, 0)) }

func doneResult(nonce string, padding int) string {
	return `{"resultType":"complete","content":[{"type":"text","text":"did ` + nonce + strings.Repeat(" ", padding) + `"}]}`
}

// send writes one message.
func (v *victim) send(o outlet, message string) {
	o.Lock()
	defer o.Unlock()
	_ = o.raw(o.frame(message))
}

// call runs a call, or keeps the plan.
func (v *victim) call(id string, params []byte, o outlet) {
	var p struct {
		Arguments struct {
			Nonce string `json:"nonce"`
		} `json:"arguments"`
		Meta struct {
			ProgressToken json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
		InputResponses json.RawMessage `json:"inputResponses"`
		RequestState   string          `json:"requestState"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		if web, ok := o.(decider); ok {
			web.decide(nil)
		}
		v.send(o, failure(id, -32602, "bad parameters"))
		return
	}
	c := &call{victim: v, outlet: o, id: id, nonce: p.Arguments.Nonce, token: string(p.Meta.ProgressToken), again: p.InputResponses != nil, rounds: atoi(p.RequestState)}
	hit := v.hits(c)
	if v.plan.Deed == "questions" && c.again {
		hit = true // the same call goes on
	}
	if web, ok := o.(decider); ok {
		refusal := http.HandlerFunc(nil)
		if hit {
			refusal = v.refusal(c)
		}
		if web.decide(refusal); refusal != nil {
			return
		}
	}
	if hit {
		c.misbehave(v.plan.Deed)
		return
	}
	c.run()
	v.send(o, done(id, c.nonce))
}

// hits counts the call and reports whether the plan is about it.
func (v *victim) hits(c *call) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.calls++
	v.served++
	hit := v.calls == v.plan.Hit || v.plan.Again && v.calls > v.plan.Hit
	if v.plan.Deed == "flap" {
		hit = v.served == 2
	}
	c.first = v.calls == v.plan.Hit
	if hit && v.plan.Hit > 0 {
		v.closed.Store(v.plan.Deed == "unreadable")
		v.ledger.note(c.nonce, "got", "hit")
		return true
	}
	v.ledger.note(c.nonce, "got")
	return false
}

// list answers tools/list: with one tool, or as the plan wants.
func (v *victim) list(params []byte) (result string, announce bool) {
	var p struct {
		Cursor string `json:"cursor"`
	}
	_ = json.Unmarshal(params, &p)
	page := func(tool, more string) string {
		return `{"resultType":"complete","tools":[{"name":"` + tool + `","inputSchema":{"type":"object"},"annotations":{"idempotentHint":true}}]` + more + `}`
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case v.plan.Deed == "cycle":
		return page("do", `,"nextCursor":"again"`), false
	case v.plan.Deed != "pages":
		return page("do", ""), false
	case p.Cursor == "":
		return page(fmt.Sprint("first-", v.changes), `,"nextCursor":"second"`), false
	}
	// The first reader finds that the list changed behind the first page.
	announce = v.changes == 0
	v.changes = 1
	return page(fmt.Sprint("second-", v.changes), ""), announce
}

// sendList answers tools/list, after an announcement if the list has changed.
func (v *victim) sendList(id string, params []byte, o outlet) {
	result, announce := v.list(params)
	o.Lock()
	defer o.Unlock()
	if announce {
		_ = o.raw(o.frame(listChanged))
	}
	_ = o.raw(o.frame(answer(id, result)))
}

const listChanged = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`

// ask sends the client a request and waits for its answer.
func (v *victim) ask(o outlet, method, params string) {
	v.mu.Lock()
	v.asked++
	id := fmt.Sprintf(`"ask %d"`, v.asked)
	answered := make(chan struct{})
	v.asks[id] = answered
	v.mu.Unlock()
	v.send(o, `{"jsonrpc":"2.0","id":`+id+`,"method":"`+method+`","params":`+params+`}`)
	select {
	case <-answered:
	case <-o.gone():
	}
}
