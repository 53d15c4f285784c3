//go:build integration && unix

package integration

//lint:file-ignore SA1019 Sampling, roots and logging are deprecated since revision 2026-07-28, and work.

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// A feature is something that client and server do together.
type feature struct {
	name string
	// on holds how it is tried out with each server that offers it.
	on map[string]func(t *testing.T, p *peer)
	// not says why some targets cannot have it, by server, server and
	// transport, the whole of them, or revision.
	not map[string]string
}

type (
	servers = map[string]func(t *testing.T, p *peer)
	reasons = map[string]string
)

// TestFeatures tries every feature with every server over every transport, and
// prints a table of them.
func TestFeatures(t *testing.T) {
	all := slices.Concat(toolFeatures(), resourceFeatures(), promptFeatures(), noticeFeatures(), askingFeatures(), taskFeatures())
	table := make(map[string]map[string]string)
	notes := make(map[string][]string) // targets, by feature and reason
	t.Run("with", func(t *testing.T) { // returns when all targets are done
		for _, g := range targets() {
			cells := make(map[string]string)
			table[g.String()] = cells
			var tries []feature
			for _, f := range all {
				why := f.excuse(g)
				switch {
				case f.on[g.server] == nil:
					cells[f.name] = "."
				case why != "":
					cells[f.name] = "-"
					note := f.name + ": " + why
					notes[note] = append(notes[note], g.String())
				default:
					cells[f.name] = "?" // the -run flag left it out
					tries = append(tries, f)
				}
			}
			t.Run(strings.ReplaceAll(g.String(), " ", "/"), func(t *testing.T) {
				t.Parallel() // most of them wait for their servers
				g.try(t, tries, cells)
			})
		}
	})
	report := "\n" + render(all, table)
	for _, note := range slices.Sorted(maps.Keys(notes)) {
		report += fmt.Sprintf("%s (%s)\n", note, strings.Join(notes[note], ", "))
	}
	t.Log(report)
}

// try tries features with a target, and notes in cells what came of them.
func (g target) try(t *testing.T, tries []feature, cells map[string]string) {
	p := newPeer(t, g)
	for _, f := range tries {
		t.Run(strings.ReplaceAll(f.name, " ", "_"), func(t *testing.T) {
			cells[f.name] = "NO"
			p.user.forget()
			f.on[g.server](t, p)
			if !t.Failed() {
				cells[f.name] = "yes"
			}
		})
	}
}

func (f feature) excuse(g target) string {
	for _, prefix := range []string{g.String(), g.server + " " + g.transport, g.server} {
		if why := f.not[prefix]; why != "" {
			return why
		}
	}
	return f.not[g.revision]
}

// render returns the table: yes, NO, a dot for what the server does not offer,
// a dash for what the notes explain, and ? for what was not run.
func render(all []feature, table map[string]map[string]string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for line := range 3 {
		title := []string{"", "", "feature"}[line]
		fmt.Fprint(w, title)
		for _, g := range targets() {
			fmt.Fprint(w, "\t"+strings.Fields(g.String())[line])
		}
		fmt.Fprintln(w)
	}
	for _, f := range all {
		fmt.Fprint(w, f.name)
		for _, g := range targets() {
			fmt.Fprint(w, "\t"+table[g.String()][f.name])
		}
		fmt.Fprintln(w)
	}
	w.Flush()
	return b.String()
}

// A peer is a client of one target, and who answers for it.
type peer struct {
	*mcp.Client
	target target
	user   *user
	to     mcp.Transport
}

func newPeer(t *testing.T, g target) *peer {
	t.Helper()
	p := &peer{target: g, user: &user{}}
	p.to = g.dial(t, p)
	p.Client = p.another(t, nil)
	assert.OK(t, p.Ready(ctxFor(t)))
	assert.Equal(t, p.State().ProtocolVersion, g.revision, "revision")
	return p
}

// another returns a second client of the target, with changed options.
func (p *peer) another(t *testing.T, change func(*mcp.ClientOptions)) *mcp.Client {
	t.Helper()
	opts := &mcp.ClientOptions{
		Elicit:    p.user.fillIn,
		ElicitURL: p.user.visit,
		Sample:    p.user.sample,
		ListRoots: p.user.roots,
		Tasks:     true,
		LogLevel:  "debug",
		Log:       p.user.read,
	}
	if change != nil {
		change(opts)
	}
	c := mcp.NewClient(p.target.server, p.to, opts)
	t.Cleanup(func() { assert.Equal(t, c.Close(), nil, "Close") })
	return c
}

// tool calls a tool, which must succeed.
func (p *peer) tool(t *testing.T, name, args string, opts *mcp.RequestOptions) *mcp.CallToolResult {
	t.Helper()
	res := assert.Value(p.CallTool(ctxFor(t), name, json.RawMessage(args), opts))(t)
	assert.False(t, res.IsError, "%s answered with an error: %s", name, text(res))
	return res
}

// says calls a tool whose text must contain all the words.
func (p *peer) says(t *testing.T, name, args string, words ...string) {
	t.Helper()
	want(t, text(p.tool(t, name, args, nil)), words...)
}

// want fails unless got contains all the words.
func want(t *testing.T, got string, words ...string) {
	t.Helper()
	assert.ContainsAll(t, got, words...)
}

// A user answers what servers ask, and remembers it.
type user struct {
	mu     sync.Mutex
	forms  []*mcp.ElicitRequest
	pages  []*mcp.ElicitURLRequest
	talks  []*mcp.SampleRequest
	logs   []*mcp.LogMessage
	lines  []string
	filled map[string]any // the next answers
	folder []string       // of the roots beside one
}

func (u *user) forget() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.forms, u.pages, u.talks, u.logs, u.lines, u.filled = nil, nil, nil, nil, nil, nil
}

// work sets the roots, beside that of the folder one.
func (u *user) work(folders ...string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.folder = folders
}

func (u *user) roots(context.Context) (roots []*mcp.Root, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, name := range append([]string{"one"}, u.folder...) {
		roots = append(roots, &mcp.Root{URI: "file:///srv/" + name, Name: name})
	}
	return roots, nil
}

// fill says what to answer to forms from now on.
func (u *user) fill(content map[string]any) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.filled = content
}

func (u *user) fillIn(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.forms = append(u.forms, req)
	if u.filled == nil {
		return &mcp.ElicitResult{Action: "decline"}, nil
	}
	return &mcp.ElicitResult{Action: "accept", Content: u.filled}, nil
}

// visit presses the button of a page of ours; other pages are not opened.
func (u *user) visit(ctx context.Context, req *mcp.ElicitURLRequest) (*mcp.ElicitResult, error) {
	u.mu.Lock()
	u.pages = append(u.pages, req)
	u.mu.Unlock()
	if req.Host != "127.0.0.1" {
		req.Done()
		return &mcp.ElicitResult{Action: "accept"}, nil
	}
	button, err := http.NewRequestWithContext(ctx, http.MethodPost, req.URL, http.NoBody)
	if err != nil {
		return nil, err
	}
	button.Close = true
	res, err := http.DefaultClient.Do(button)
	if err != nil {
		return nil, err
	}
	return &mcp.ElicitResult{Action: "accept"}, res.Body.Close()
}

func (u *user) sample(_ context.Context, req *mcp.SampleRequest) (*mcp.SampleResult, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.talks = append(u.talks, req)
	return &mcp.SampleResult{
		Role: "assistant", Model: "canned", StopReason: "endTurn",
		Content: []mcp.Content{&mcp.TextContent{Text: "said by a model"}},
	}, nil
}

func (u *user) read(m *mcp.LogMessage) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.logs = append(u.logs, m)
}

func (u *user) hear(line string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.lines = append(u.lines, line)
}

// logged reports whether a message contains the words.
func (u *user) logged(words string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.ContainsFunc(u.logs, func(m *mcp.LogMessage) bool { return strings.Contains(string(m.Data), words) })
}

func (u *user) heard(words string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.ContainsFunc(u.lines, func(line string) bool { return strings.Contains(line, words) })
}

// form returns the only form that was filled in.
func (u *user) form(t *testing.T) *mcp.ElicitRequest {
	t.Helper()
	u.mu.Lock()
	defer u.mu.Unlock()
	return assert.Only(t, u.forms)
}
