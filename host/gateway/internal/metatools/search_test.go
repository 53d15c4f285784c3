package metatools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/host/gateway/internal/metatools"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/internal/toolcorpus"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/result"
	"github.com/mcpbelt/mcpbelt/registry/toolset"
)

// A serverTool is a tool of a server that does nothing.
type serverTool struct{ def registry.Definition }

func (t *serverTool) Definition() *registry.Definition { return &t.def }

func (t *serverTool) Call(context.Context, json.RawMessage) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{}, nil
}

// newFinder returns what finds the tools of real servers. It is made once.
var newFinder = sync.OnceValues(func() (*toolset.Finder, error) {
	r := registry.New(nil)
	for _, s := range toolcorpus.Servers() {
		var tools []registry.Tool
		for _, tool := range s.Tools {
			tools = append(tools, &serverTool{registry.Definition{
				Name: tool.Name, Title: tool.Title, Description: tool.Description, InputSchema: tool.InputSchema,
				OutputSchema: tool.OutputSchema, RawAnnotations: tool.Annotations, Origin: registry.Origin{Server: s.Name, Tool: tool.Name},
			}})
		}
		if _, err := r.Replace(registry.Server{Name: s.Name}, tools); err != nil {
			return nil, err
		}
	}
	return toolset.New(r, &toolset.Options{NoTools: true})
})

// newBelt returns what a client sees of the tools of real servers: those that sees is true for, or all.
func newBelt(t testing.TB, sees func(*registry.Definition) bool) *metatools.Belt {
	t.Helper()
	if sees == nil {
		sees = func(*registry.Definition) bool { return true }
	}
	finder := assert.Value(newFinder())(t)
	return &metatools.Belt{
		Finder: finder, Sees: sees, Name: func(d *registry.Definition) string { return d.Name },
		HasServer: func(string) bool { return true },
		Known: func(ctx context.Context, name string) (*registry.Definition, string, error) {
			tool, err := finder.Registry().Find(ctx, name)
			if err != nil {
				return nil, "", err
			}
			if !sees(tool.Definition()) {
				return nil, "", &registry.UnknownToolError{Name: name}
			}
			return tool.Definition(), name, nil
		},
		Unknown: func(_ string, err error) error { return err },
	}
}

func definition(t testing.TB, b *metatools.Belt, name string) *registry.Definition {
	t.Helper()
	d, ok := b.Finder.Registry().Resolve(name)
	assert.True(t, ok, "a tool %s", name)
	return d
}

// retrieve returns the text of an answer of retrieve_tools, and the names of its hits.
func retrieve(t testing.TB, b *metatools.Belt, query string, limit int) (text string, names []string) {
	t.Helper()
	args := assert.Value(json.Marshal(map[string]any{"query": query, "limit": limit}))(t)
	text = result.Text(assert.Value(b.Retrieve(t.Context(), args))(t))
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "- "); ok {
			names = append(names, rest[:strings.IndexAny(rest, "( ")])
		}
	}
	return text, names
}

// What retrieve_tools finds among real tools is what the Finder finds, in its order, so that the measures are the same;
// and five hits take less than 2 KB, whatever the tools.
func TestRetrieve(t *testing.T) {
	b := newBelt(t, nil)
	largest, signatures, hits := 0, 0, 0
	found := func(text string) ([]string, error) {
		matches, err := b.Finder.Search(t.Context(), toolset.Query{Text: text, Limit: 5})
		if err != nil {
			return nil, err
		}
		var want, keys []string
		for _, m := range matches {
			d := m.Tool.Definition()
			want = append(want, d.Name)
			keys = append(keys, d.Origin.Server+"/"+d.Origin.Tool)
		}
		answer, got := retrieve(t, b, text, 5)
		assert.Equal(t, fmt.Sprint(got), fmt.Sprint(want), "%q", text)
		assert.True(t, len(answer) < 2000, "%q: %d bytes are less than 2,000: %s", text, len(answer), answer)
		largest, hits, signatures = max(largest, len(answer)), hits+len(got), signatures+len(got)-strings.Count(answer, " […] [")
		return keys, nil
	}
	m := assert.Value(toolcorpus.MeasureOf(toolcorpus.Queries(), found))(t)
	t.Logf("%+v; the largest answer has %d bytes; %d of %d hits have their parameters", m, largest, signatures, hits)
	assert.True(t, m.Recall5 >= 0.75, "the recall %.3f is that of the Finder", m.Recall5)
	assert.True(t, signatures >= hits*95/100, "%d of %d hits have their parameters, at least 95 of 100", signatures, hits)
}

// A client finds and is shown what it sees alone.
func TestRetrieveSeesAPart(t *testing.T) {
	all := newBelt(t, nil)
	_, names := retrieve(t, all, "create an issue", 100)
	first := definition(t, all, names[0])
	part := newBelt(t, func(d *registry.Definition) bool { return d.Origin.Server != first.Origin.Server })
	for _, query := range []string{"create an issue", names[0], first.Origin.Server, "xyzzy"} {
		text, names := retrieve(t, part, query, 100)
		for _, name := range names {
			assert.True(t, part.Sees(definition(t, part, name)), "%q: the hit %s is seen", query, name)
		}
		assert.False(t, len(names) == 0 && strings.Contains(text, " of "+first.Origin.Server), "%q: a word of another server: %q", query, text)
	}
	_, names = retrieve(t, all, "issue", 0)
	assert.Equal(t, len(names), 1, "hits for the limit 0")
	_, names = retrieve(t, all, "issue", 1000)
	assert.True(t, len(names) <= 100, "%d hits for the limit 1000 are at most 100", len(names))
	res := assert.Value(all.Retrieve(t.Context(), json.RawMessage(`{"query":"issue"}`)))(t)
	assert.True(t, strings.Count(result.Text(res), "- ") >= 15, "15 hits without a limit")
}

func TestDescribe(t *testing.T) {
	b := newBelt(t, nil)
	_, names := retrieve(t, b, "create an issue", 12)
	one, _ := json.Marshal(map[string]any{"names": names[0]})
	all, _ := json.Marshal(map[string]any{"names": append(slices.Clone(names), "no_such_tool")})
	for _, c := range []struct {
		args           string
		tools, missing int
		isError        bool
	}{
		{string(one), 1, 0, false},
		{string(all), 10, 1, false},
		{`{"names":["no_such_tool"]}`, 0, 1, true},
		{`{"names":[]}`, 0, 0, true},
		{`{}`, 0, 0, true},
		{`{"names":7}`, 0, 0, true},
		{`{"names":["a"],"names":["b"]}`, 0, 0, true},
		{`{"names":["a"],"more":1}`, 0, 0, true},
	} {
		res := assert.Value(b.Describe(t.Context(), json.RawMessage(c.args)))(t)
		var got struct{ Tools, Missing []json.RawMessage }
		_ = json.Unmarshal([]byte(result.Text(res)), &got)
		assert.Equal(t, len(got.Tools), c.tools, "%s: tools", c.args)
		assert.Equal(t, len(got.Missing), c.missing, "%s: names that are missing", c.args)
		assert.Equal(t, res.IsError, c.isError, "%s: an error", c.args)
	}
}

func TestReadCall(t *testing.T) {
	for args, want := range map[string]string{
		`{"tool":"a"}`: `|a|`,
		`{"tool":"a","arguments":null,"server":null}`:             `|a|`,
		`{"server":"s","tool":"a","arguments":{"n": 1.0}}`:        `s|a|{"n": 1.0}`,
		`{"tool":"a","arguments":"{\"n\":12345678901234567890}"}`: `|a|{"n":12345678901234567890}`,
		`{"tool":"a","arguments":""}`:                             `|a|`,
	} {
		c, err := metatools.ReadCall(json.RawMessage(args))
		assert.OK(t, err, "%s", args)
		assert.Equal(t, c.Server+"|"+c.Tool+"|"+string(c.Arguments), want, "%s", args)
	}
	for _, args := range []string{
		``, `null`, `{}`, `{"tool":""}`, `{"tool":1}`, `{"tool":"a","arguments":[1]}`, `{"tool":"a","arguments":"[1]"}`, `{"tool":"a","arguments":"{"}`,
		`{"tool":"a","tool":"b"}`, `{"tool":"a","more":1}`, `{"tool":"a","server":{}}`, `{"tool":"a","arguments":"{\"x\":1,\"x\":2}"}`,
	} {
		assert.Fails(t, assert.Err(metatools.ReadCall(json.RawMessage(args))), "%s", args)
	}
}

// A variant of call_tool takes what its hints tell the client, and names the right one.
func TestRefusal(t *testing.T) {
	for _, c := range []struct{ annotations, read, write, destroy string }{
		{`{"readOnlyHint":true}`, "", "", ""},
		{`{"readOnlyHint":false,"destructiveHint":false}`, metatools.CallWrite, "", ""},
		{`{"destructiveHint":true}`, metatools.CallDestroy, metatools.CallDestroy, ""},
		{`{"readOnlyHint":true,"destructiveHint":true}`, metatools.CallDestroy, metatools.CallDestroy, ""},
		{`{}`, metatools.CallDestroy, metatools.CallDestroy, ""},
		{``, metatools.CallDestroy, metatools.CallDestroy, ""},
	} {
		d := &registry.Definition{Name: "t", RawAnnotations: json.RawMessage(c.annotations)}
		for variant, want := range map[string]string{metatools.CallTool: "", metatools.CallRead: c.read, metatools.CallWrite: c.write, metatools.CallDestroy: c.destroy} {
			err := metatools.Refusal(variant, d)
			named := want != "" && err != nil && strings.HasSuffix(err.Error(), ": call it with "+want)
			assert.True(t, named || want == "" && err == nil, "%s of %q: %v names %q", variant, c.annotations, err, want)
		}
	}
}

func ExampleRefusal() {
	d := &registry.Definition{Name: "wipe", RawAnnotations: json.RawMessage(`{"destructiveHint":true}`)}
	fmt.Println(metatools.Refusal(metatools.CallRead, d))
	// Output: "wipe" may destroy something: call it with call_tool_destructive
}

func ExampleReadCall() {
	c, err := metatools.ReadCall(json.RawMessage(`{"server":"notes","tool":"create","arguments":{"text":"hi"}}`))
	fmt.Println(c.Server, c.Tool, string(c.Arguments), err)
	// Output: notes create {"text":"hi"} <nil>
}

func ExampleListed() {
	fmt.Println(len(metatools.Listed(metatools.RetrieveTools)) < 1000, metatools.IsCall(metatools.CallRead), metatools.Listed("search_tools"))
	// Output: true true []
}

func TestMain(m *testing.M) {
	if end := hosttest.Begin(nil); end != nil {
		goleak.VerifyTestMain(m, goleak.Cleanup(end))
	}
}
