// Tests of edit.go, write.go and remove.go: changes of the text.

package codex

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const before = `# top
model = "o3" # which

# about a
[mcp_servers.a]
command = "npx" # runs
args = ["-y", "a", # one
  "b"]
env = { A = "1", B = "2" }

# about a's tools
[mcp_servers.a.tools.rm]
approval_mode = "prompt"

# [mcp_servers.old]
# command = "old"

# about b
[mcp_servers.b]
url = "https://b.example.com" # address

[other]
x = 1
`

func split(path string) []string { return strings.Split(path, "/") }

func TestSet(t *testing.T) {
	for _, c := range []struct{ name, have, path, value, want string }{
		{"value", before, "mcp_servers/a/command", `"node"`, strings.Replace(before, `"npx"`, `"node"`, 1)},
		{"same", before, "mcp_servers/a/env", `{"B":"2","A":"1"}`, before},
		{"new key", before, "mcp_servers/b/tool_timeout_sec", `20`, strings.Replace(before, "# address\n", "# address\ntool_timeout_sec = 20\n", 1)},
		{"new key before a sub table", before, "mcp_servers/a/cwd", `"C:\\x"`, strings.Replace(before, "B = \"2\" }\n", "B = \"2\" }\ncwd = 'C:\\x'\n", 1)},
		{"inline: one changes", before, "mcp_servers/a/env/A", `"it's \"x\"\\"`, strings.Replace(before, `A = "1"`, `A = "it's \"x\"\\"`, 1)},
		{"inline: one comes, one goes", before, "mcp_servers/a/env", `{"B":"2","C D":"3"}`, strings.Replace(before, `{ A = "1", B = "2" }`, `{ B = "2", "C D" = "3" }`, 1)},
		{"array: one comes", before, "mcp_servers/a/args", `["-y","a","b","c"]`, strings.Replace(before, `"b"]`, `"b", "c"]`, 1)},
		{"array: one goes", before, "mcp_servers/a/args", `["-y","a"]`, strings.Replace(before, ", # one\n  \"b\"]", "]", 1)},
		{"array: the first goes", before, "mcp_servers/a/args", `["a","b"]`, strings.Replace(before, `"-y", `, "", 1)},
		{"array: one changes", before, "mcp_servers/a/args", `["-y","a","z"]`, strings.Replace(before, `"b"]`, `"z"]`, 1)},
		{"new object", before, "mcp_servers/b/env", `{"A":"1"}`, strings.Replace(before, "# address\n", "# address\nenv = { A = \"1\" }\n", 1)},
		{"object on the way", before, "mcp_servers/b/env/A", `"1"`, strings.Replace(before, "# address\n", "# address\nenv = { A = \"1\" }\n", 1)},
		{"new table", before, "mcp_servers/c d", `{"command":"x","args":["y"],"enabled":false}`,
			strings.Replace(before, "# address\n", "# address\n\n[mcp_servers.\"c d\"]\ncommand = \"x\"\nargs = [\"y\"]\nenabled = false\n", 1)},
		{"empty file", "", "mcp_servers/c", `{"command":"x"}`, "[mcp_servers.c]\ncommand = \"x\"\n"},
		{"no line break at the end", "a = 1", "mcp_servers/c", `{"command":"x"}`, "a = 1\n\n[mcp_servers.c]\ncommand = \"x\""},
		{"CRLF", "[mcp_servers.a]\r\ncommand = 'x'\r\n", "mcp_servers/a/cwd", `"y"`, "[mcp_servers.a]\r\ncommand = 'x'\r\ncwd = \"y\"\r\n"},
		{"indented", "[mcp_servers.a]\n  command = \"x\"\n", "mcp_servers/a/cwd", `"y"`, "[mcp_servers.a]\n  command = \"x\"\n  cwd = \"y\"\n"},
		{"all inline", "mcp_servers = { a = { command = \"x\" } }\n", "mcp_servers/b", `{"command":"y"}`, "mcp_servers = { a = { command = \"x\" }, b = { command = \"y\" } }\n"},
		{"invisible", "[a]\nb = 1\n", "a/b", `"\u202e\n\ud83d\ude00"`, "[a]\nb = \"\\u202e\\n😀\"\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := assert.Value(edits().Set([]byte(c.have), []byte(c.value), split(c.path)...))(t)
			assert.Equal(t, string(got), c.want)
			assert.Equal(t, string(assert.Value(edits().Set(got, []byte(c.value), split(c.path)...))(t)), string(got))
		})
	}
}

func TestRemove(t *testing.T) {
	cut := func(parts ...string) string {
		text := before
		for _, part := range parts {
			assert.Contains(t, text, part)
			text = strings.Replace(text, part, "", 1)
		}
		return text
	}
	for _, c := range []struct{ name, have, path, want string }{
		{"not there", before, "mcp_servers/c", before},
		{"key", before, "mcp_servers/a/command", cut("command = \"npx\" # runs\n")},
		{"array on lines", before, "mcp_servers/a/args", cut("args = [\"-y\", \"a\", # one\n  \"b\"]\n")},
		{"member", before, "mcp_servers/a/env/A", cut(`A = "1", `)},
		{"last member", before, "mcp_servers/a/env/B", cut(`, B = "2"`)},
		{"element", before, "mcp_servers/a/args/0", cut(`"-y", `)},
		{"table", before, "mcp_servers/b", cut("# about b\n[mcp_servers.b]\nurl = \"https://b.example.com\" # address\n\n")},
		{"table with sub tables", before, "mcp_servers/a", before[:strings.Index(before, "# about a\n")] + before[strings.Index(before, "# [mcp_servers.old]"):]},
		{"last table", "[a]\nx = 1\n\n# b\n[b]\ny = 1\n", "b", "[a]\nx = 1\n"},
		{"dotted", "a.b.c = 1\na.b.d = 2\na.e = 3\n", "a/b", "a.e = 3\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, string(assert.Value(edits().Remove([]byte(c.have), split(c.path)...))(t)), c.want)
		})
	}
}

func TestRename(t *testing.T) {
	for _, c := range []struct{ have, path, key, want string }{
		{before, "mcp_servers/a", "x y", strings.ReplaceAll(before, "mcp_servers.a", "mcp_servers.\"x y\"")},
		{"a.b = 1\na.c = 2\n", "a", "z", "z.b = 1\nz.c = 2\n"},
		{before, "mcp_servers/q", "z", before},
		{before, "mcp_servers/a", "b", "mcp_servers.b: is there already"},
	} {
		got, err := edits().Rename([]byte(c.have), c.key, split(c.path)...)
		if err != nil {
			got = []byte(err.Error())
		}
		assert.Equal(t, string(got), c.want)
	}
}

func treeOf(t *testing.T, data []byte) any {
	t.Helper()
	doc := assert.Value(parse(data))(t)
	var v any
	if err := json.Unmarshal(doc.Root.JSON(), &v); err != nil {
		t.Skip(err) // a number that is out of range
	}
	return v
}

func placesOf(n *jsonc.Node, at []string) (list [][]string) {
	for i := range n.Members {
		path := append(slices.Clone(at), n.Members[i].Key)
		list = append(append(list, path), placesOf(&n.Members[i].Value, path)...)
	}
	for i := range n.Elems {
		path := append(slices.Clone(at), strconv.Itoa(i))
		list = append(append(list, path), placesOf(&n.Elems[i], path)...)
	}
	return list
}

func withoutPath(v any, path []string) any {
	switch v := v.(type) {
	case map[string]any:
		if len(path) == 1 {
			delete(v, path[0])
		} else {
			v[path[0]] = withoutPath(v[path[0]], path[1:])
		}
		return v
	case []any:
		i, _ := strconv.Atoi(path[0])
		if len(path) == 1 {
			return slices.Delete(v, i, i+1)
		}
		v[i] = withoutPath(v[i], path[1:])
		return v
	}
	return v
}

// prune drops empty tables, which may go with their last member.
func prune(v any) any {
	if m, ok := v.(map[string]any); ok {
		for key := range m {
			m[key] = prune(m[key])
			if sub, ok := m[key].(map[string]any); ok && len(sub) == 0 {
				delete(m, key)
			}
		}
	}
	if list, ok := v.([]any); ok {
		for i := range list {
			list[i] = prune(list[i])
		}
	}
	return v
}

func FuzzEdit(f *testing.F) {
	for _, file := range inputs(f) {
		data := assert.Value(os.ReadFile(file))(f)
		for seed := range uint64(20) {
			f.Add(data, seed)
		}
	}
	for seed := range uint64(20) {
		f.Add([]byte(before), seed)
		f.Add([]byte("[[a]]\nb.c = [{x=1}, {y=[1,2]}]\n[a.d]\ne=1\n[[a]]\n[a.d]\n"), seed)
	}
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		doc, err := parse(data)
		if err != nil {
			return
		}
		all := placesOf(&doc.Root, nil)
		if len(all) == 0 {
			return
		}
		r := rand.New(rand.NewPCG(seed, 1))
		path := all[r.IntN(len(all))]
		if got, err := edits().Remove(data, path...); err == nil {
			want := withoutPath(treeOf(t, data), path)
			assert.True(t, reflect.DeepEqual(prune(treeOf(t, got)), prune(want)), "%q removed from\n%s\nis\n%s", path, data, got)
		}
		value := []byte([]string{`"new"`, `{"x": [1, {"y": "z"}]}`, `["a", 2]`, `true`}[r.IntN(4)])
		if got, err := edits().Set(data, value, path...); err == nil {
			checkValue(t, data, got, value, path)
		}
		path = append(slices.Clone(path[:len(path)-1]), "added key")
		if got, err := edits().Set(data, value, path...); err == nil {
			checkValue(t, data, got, value, path)
			for line := range strings.SplitSeq(string(data), "\n") {
				stays := strings.Contains(string(got), strings.TrimSuffix(line, "\r")) || strings.ContainsAny(line, "{}[]")
				assert.True(t, stays, "the line %q stays in\n%s\nwhich is now\n%s", line, data, got)
			}
		}
	})
}

// generic returns a value without the order of its members.
func generic(data []byte) (v any) {
	_ = json.Unmarshal(data, &v)
	return v
}

func checkValue(t *testing.T, data, got, value []byte, path []string) {
	t.Helper()
	doc, err := parse(got)
	assert.OK(t, err, "%q set to %s in\n%s\nis\n%s", path, value, data, got)
	node := doc.Root.At(path)
	want, _ := jsonc.Parse(value)
	same := node != nil && reflect.DeepEqual(generic(node.JSON()), generic(want.Root.JSON()))
	assert.True(t, same, "%q set to %s in\n%s\nis\n%s", path, value, data, got)
	same = reflect.DeepEqual(prune(withoutPath(treeOf(t, got), path)), prune(withoutPath(treeOf(t, data), path)))
	assert.True(t, same, "%q set to %s changes no more in\n%s\nwhich is now\n%s", path, value, data, got)
}
