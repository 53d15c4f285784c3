// Tests of format.go: files as users have them, and as nobody should.

package codex

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/config/edit"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

func TestEditFile(t *testing.T) {
	//report: Config files | openai/codex#45432 | adding a server to config.toml writes all entries anew, without comments and keys that the program does not know | one entry is changed, and comments, numbers and unknown keys stay
	start := assert.Value(os.ReadFile(filepath.Join("testdata", "config.toml")))(t)
	path := filepath.Join(t.TempDir(), "config.toml")
	assert.OK(t, os.WriteFile(path, start, 0o600))
	store := edit.OpenFileStore(path, &config.Options{Formats: []*config.Format{Format()}})
	set := func(name string, keys []string, values config.Server) error {
		_, _, err := record.Update(t.Context(), store, name, &record.Patch{Keys: keys, Values: values})
		return err
	}
	r := assert.Value(record.Find(t.Context(), store, "context7"))(t).Record
	r.Env["MORE"] = "${X}"
	assert.OK(t, set("context7", []string{"env", "enabled", "readTimeoutSeconds", "tools"}, config.Server{
		Env: r.Env, Disabled: true, ReadTimeout: 2 * r.ReadTimeout, Tools: config.ToolFilter{Allow: []string{"search"}, Deny: []string{"rm", "mv"}},
	}))
	assert.OK(t, set("two words", []string{"name", "cwd"}, config.Server{Name: "two more words", Cwd: "/srv"}))
	assert.Value(record.Remove(t.Context(), store, "tools"))(t)
	assert.Value(record.Add(t.Context(), store, &config.Server{Name: "new", URL: "https://new.example.com", Transport: config.TransportHTTP,
		Headers: map[string]config.Secret{"X-A": "b"}, Tools: config.ToolFilter{Allow: []string{"one"}}}))(t)
	// What a variable of Codex says is changed by hand.
	err := set("figma", []string{"headers"}, config.Server{Headers: map[string]config.Secret{"Authorization": "Bearer x"}})
	assert.Contains(t, fmt.Sprint(err), "by hand")
	got := assert.Value(os.ReadFile(path))(t)
	golden(t, filepath.Join("testdata", "edited.want"), string(got))
}

func TestImportToCodex(t *testing.T) {
	dir := t.TempDir()
	source, target := filepath.Join(dir, ".mcp.json"), filepath.Join(dir, "config.toml")
	text := `{"mcpServers": {"files": {"command": "npx", "env": {"TOKEN": "sk-abcdefghijkl9876"}, "tools": {"deny": ["rm"], "rename": {"a": "b"}}},
		"events": {"url": "https://example.com/sse", "type": "sse"}}}`
	assert.OK(t, os.WriteFile(source, []byte(text), 0o600))
	plan := assert.Value(edit.PlanImport(source, target, &edit.ImportOptions{To: &config.Options{Formats: []*config.Format{Format()}}}))(t)
	want := "[{files <nil> [tools.rename: has no place in a file of the format codex]" + " TOKEN='****9876' 'npx'\n# server files\n# tools: {\"deny\":[\"rm\"]}}" +
		" {events the transport sse has no place in a file of the format codex [] <nil>}]"
	assert.Equal(t, fmt.Sprint(plan.Servers), want, "the servers")
	assert.OK(t, plan.Apply(t.Context()))
	got := assert.Value(os.ReadFile(target))(t)
	assert.Equal(t, string(got), "[mcp_servers.files]\ncommand = \"npx\"\nenv = { TOKEN = \"sk-abcdefghijkl9876\" }\ndisabled_tools = [\"rm\"]\n")
}

func keys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "k%d = 1\n", i)
	}
	return b.String()
}

func tables(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "[k%d]\n", i)
	}
	return b.String()
}

func parseError(t *testing.T, data string) string {
	_, err := config.Parse(t.Context(), "f.toml", []byte(data), &config.Options{Formats: []*config.Format{Format()}})
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestBombs: small and large files that would grow are refused, and say why.
func TestBombs(t *testing.T) {
	const server = "[mcp_servers.a]\ncommand = 'x'\n"
	for name, test := range map[string]struct{ in, want string }{
		"size":           {strings.Repeat("# x\n", jsonc.MaxSize/4+1), "f.toml:1:1: the file has 16777220 bytes, more than the limit of 16777216"},
		"deep arrays":    {server + "x = " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000), "f.toml:3:131: nested deeper than 128 levels"},
		"deeper arrays":  {server + "x = " + strings.Repeat("[", 5000000), "f.toml:1:1: the file has more than 1048576 values"},
		"arrays":         {server + "x = " + strings.Repeat("[", 200000), "f.toml:3:10005: arrays and inline tables are nested more than the maximum of 10000 levels deep"},
		"long key":       {server + strings.Repeat("a.", 200) + "b = 1", "f.toml:3:253: nested deeper than 128 levels"},
		"long header":    {"[" + strings.Repeat("a.", 200) + "b]", "f.toml:1:258: nested deeper than 128 levels"},
		"many values":    {server + "x = [" + strings.Repeat("1,", 1100000) + "]", "f.toml:3:2097150: the file has more than 1048576 values"},
		"many keys":      {strings.Repeat("a.b.c.d = 1\n", 1) + keys(9000), "f.toml:8190:1: the file has more than 8192 keys"},
		"many tables":    {tables(9000), "f.toml:8193:2: the file has more than 8192 keys"},
		"not UTF-8":      {server + "x = '\xff'", "f.toml:3:6: invalid UTF-8: save the file as UTF-8"},
		"key is a value": {"a = 1\n[a.b]", "f.toml:2:2: a.b: key a already exists as a value"},
		"inline is shut": {"a = {b = {}}\n[a.b.c]", "f.toml:2:2: a.b.c: key a already exists as a value"},
		"duplicate":      {"a = 'hunter2'\na = 'hunter2'", "f.toml:2:1: a: key a is already defined"},
		"dotted again":   {"[a]\nb.c = 1\n[a.b]\nd = 1", "f.toml:3:2: a.b: table b already exists as defined by a dotted key"},
		"huge number":    {"a = 99999999999999999999", "f.toml:1:5: decimal number is too large to fit in a 64-bit signed integer"},
		"zeros":          {"a = 0123", ""},
	} {
		if len(test.in) > assert.Cases(1<<20, 1<<30) {
			continue
		}
		got := parseError(t, test.in)
		if name == "zeros" {
			assert.True(t, strings.HasPrefix(got, "f.toml:1:"), "%s", name)
			continue
		}
		assert.Equal(t, got, test.want, "%s", name)
		assert.Lacks(t, got, "hunter2", "%s", name)
	}
}

// TestPlaces: places count bytes in lines as editors do, behind a byte order mark and
// with either kind of line break.
func TestPlaces(t *testing.T) {
	const in = "\ufeff[mcp_servers.é]\r\n\"a b\" = { 'c' = [ 1,\r\n  [ 2, 'é', 3 ] ] }\r\ncommand = 5\r\n"
	_, err := config.Parse(t.Context(), "f.toml", []byte(in), &config.Options{Formats: []*config.Format{Format()}})
	assert.Fails(t, err, "a bare key of other letters was read")
	c := assert.Value(config.Parse(t.Context(), "f.toml", []byte(strings.ReplaceAll(in, "é]", "'é']")), &config.Options{Formats: []*config.Format{Format()}}))(t)
	s := c.Servers[0]
	assert.Equal(t, string(s.Extra["a b"]), `{"c":[1,[2,"é",3]]}`, "extra =")
	assert.Equal(t, s.Source.Line, 1)
	assert.Contains(t, s.Err.Error(), `f.toml:4:11: mcp_servers."é".command: must be a string`)
	doc := assert.Value(parse([]byte(strings.ReplaceAll(in, "é]", "'é']"))))(t)
	inner := doc.Root.Member("mcp_servers").Value.Member("é").Value.Member("a b").Value.Member("c").Value
	for want, n := range map[string]jsonc.Node{"[ 1,\r\n  [ 2, 'é', 3 ] ]": inner, "[ 2, 'é', 3 ]": inner.Elems[1], "'é'": inner.Elems[1].Elems[1], "3": inner.Elems[1].Elems[2]} {
		assert.Equal(t, string(doc.Data[n.Offset:n.End]), want, "source")
	}
}
