// Tests of edit.go, write.go and remove.go: changes of the text.

package goose

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
	"github.com/mcpbelt/mcpbelt/internal/yamljson"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const before = `# top
GOOSE_MODEL: gpt # which
extensions:
  # about a
  a:
    name: a   # name
    cmd: npx # runs
    args:
      - -y # one
      - "a b"
    envs: {A: "1", B: x} # flow
    env_keys:
    - ONE
    - TWO

  # off:
  #   cmd: off

  # about b
  b:
    cmd: |-
      x
      y
    uri: 'https://b.example.com' # address
other: [1, {x: y}]
# end
`

func split(path string) []string { return strings.Split(path, "/") }

func changed(t *testing.T, pairs ...string) string {
	t.Helper()
	text := before
	for i := 0; i < len(pairs); i += 2 {
		assert.Equal(t, strings.Count(text, pairs[i]), 1)
		text = strings.Replace(text, pairs[i], pairs[i+1], 1)
	}
	return text
}

func TestSet(t *testing.T) {
	for _, c := range []struct{ name, have, path, value, want string }{
		{"value", before, "extensions/a/cmd", `"node"`, changed(t, "cmd: npx # runs", "cmd: node # runs")},
		{"quoted value", before, "extensions/b/uri", `"true"`, changed(t, "'https://b.example.com' #", `"true" #`)},
		{"value on lines", before, "extensions/b/cmd", `"z"`, changed(t, "cmd: |-\n      x\n      y\n", "cmd: z\n")},
		{"same", before, "extensions/a/envs", `{"B":"x","A":"1"}`, before},
		{"new key", before, "extensions/b/timeout", `20`, changed(t, "# address\n", "# address\n    timeout: 20\n")},
		{"new key before comments", before, "extensions/a/timeout", `20`, changed(t, "    - TWO\n", "    - TWO\n    timeout: 20\n")},
		{"flow: one changes", before, "extensions/a/envs/A", `"it's: #x"`, changed(t, `A: "1"`, `A: "it's: #x"`)},
		{"flow: one comes, one goes", before, "extensions/a/envs", `{"A":"1","C":"3"}`, changed(t, `{A: "1", B: x}`, `{A: "1", C: "3"}`)},
		{"list: one comes", before, "extensions/a/args", `["-y","a b","c"]`, changed(t, "      - \"a b\"\n", "      - \"a b\"\n      - c\n")},
		{"list: one goes", before, "extensions/a/args", `["a b"]`, changed(t, "      - -y # one\n", "")},
		{"list: the middle changes", before, "extensions/a/args", `["-y","z"]`, changed(t, "\"a b\"\n", "z\n")},
		{"list in the column of its key", before, "extensions/a/env_keys", `["ONE","TWO","THREE"]`, changed(t, "    - TWO\n", "    - TWO\n    - THREE\n")},
		{"list to nothing", before, "extensions/a/args", `[]`, changed(t, "args:\n      - -y # one\n      - \"a b\"\n", "args: []\n")},
		{"new object", before, "extensions/b/envs", `{"A":"1"}`, changed(t, "# address\n", "# address\n    envs:\n      A: \"1\"\n")},
		{"object on the way", before, "extensions/b/envs/A", `"1"`, changed(t, "# address\n", "# address\n    envs:\n      A: \"1\"\n")},
		{"new server", before, "extensions/c d", `{"cmd":"x","args":["z","-"],"enabled":false}`,
			changed(t, "# address\n", "# address\n  c d:\n    cmd: x\n    args:\n      - z\n      - \"-\"\n    enabled: false\n")},
		{"first server", "extensions: {}\n", "extensions/a", `{"cmd":"x"}`, "extensions:\n  a:\n    cmd: x\n"},
		{"no extensions", "b: 1", "extensions/a", `{"cmd":"x"}`, "b: 1\nextensions:\n  a:\n    cmd: x"},
		{"CRLF", "extensions:\r\n    a:\r\n        cmd: x\r\n", "extensions/b", `{"cmd":"z"}`, "extensions:\r\n    a:\r\n        cmd: x\r\n    b:\r\n        cmd: z\r\n"},
		{"all in brackets", "{extensions: {a: {cmd: x}}}\n", "extensions/b", `{"cmd":"y"}`, "{extensions: {a: {cmd: x}, b: {cmd: y}}}\n"},
		{"invisible", "a: 1\n", "a", `"\u202e\n\ud83d\ude00"`, "a: \"\\u202E\\n\\U0001F600\"\n"},
		{"list of servers", "extensions:\n- name: a\n  cmd: x\n", "extensions/-", `{"name":"b"}`, "extensions:\n- name: a\n  cmd: x\n- name: b\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, string(assert.Value(edits().Set([]byte(c.have), []byte(c.value), split(c.path)...))(t)), c.want)
		})
	}
}

func TestRemove(t *testing.T) {
	for _, c := range []struct{ name, have, path, want string }{
		{"not there", before, "extensions/c", before},
		{"key", before, "extensions/a/cmd", changed(t, "    cmd: npx # runs\n", "")},
		{"list", before, "extensions/a/args", changed(t, "    args:\n      - -y # one\n      - \"a b\"\n", "")},
		{"flow", before, "extensions/a/envs/A", changed(t, `A: "1", `, "")},
		{"flow, last", before, "extensions/a/envs/B", changed(t, `, B: x`, "")},
		{"element", before, "extensions/a/args/0", changed(t, "      - -y # one\n", "")},
		{"server", before, "extensions/b", changed(t, before[strings.Index(before, "  # about b"):strings.Index(before, "other:")], "")},
		{"server with what is below", before, "extensions/a", changed(t, before[strings.Index(before, "  # about a"):strings.Index(before, "\n  # off")], "")},
		{"the only one", "extensions:\n  a:\n    cmd: x\nb: 1\n", "extensions/a", "extensions: {}\nb: 1\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, string(assert.Value(edits().Remove([]byte(c.have), split(c.path)...))(t)), c.want)
		})
	}
}

func TestRename(t *testing.T) {
	for _, c := range []struct{ have, path, key, want string }{
		{before, "extensions/a", "x: y", changed(t, "  a:\n", "  \"x: y\":\n")},
		{"'a b' : {c: 1}\n", "a b", "z", "z: {c: 1}\n"},
		{before, "extensions/q", "z", before},
		{before, "extensions/a", "b", "extensions.b: is there already"},
	} {
		got, err := edits().Rename([]byte(c.have), c.key, split(c.path)...)
		if err != nil {
			got = []byte(err.Error())
		}
		assert.Equal(t, string(got), c.want)
	}
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

// FuzzEdit looks at the lines: that a text means what it should, each edit has checked.
func FuzzEdit(f *testing.F) {
	for _, file := range inputs(f) {
		data := assert.Value(os.ReadFile(file))(f)
		for seed := range uint64(assert.Cases(5, 20)) {
			f.Add(data, seed)
		}
	}
	for seed := range uint64(assert.Cases(10, 40)) {
		f.Add([]byte(before), seed)
	}
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		doc, err := yamljson.Parse(data)
		if err != nil {
			return
		}
		all := placesOf(&doc.Root, nil)
		if len(all) == 0 {
			return
		}
		r := rand.New(rand.NewPCG(seed, 1))
		path := all[r.IntN(len(all))]
		_, _ = edits().Remove(data, path...)
		_, _ = edits().Rename(data, "another key", path...)
		value := []string{`"new"`, `{"x": [1, {"y": "z"}]}`, `["a", 2]`, `true`}[r.IntN(4)]
		if got, err := edits().Set(data, []byte(value), path...); err == nil {
			again, err := edits().Set(got, []byte(value), path...)
			assert.True(t, err == nil && string(again) == string(got), "%q set to %s twice in\n%s\nis\n%s\n%v", path, value, data, again, err)
		}
		path = append(slices.Clone(path[:len(path)-1]), "added key")
		got, err := edits().Set(data, []byte(value), path...)
		if err != nil {
			return
		}
		for line := range strings.SplitSeq(string(data), "\n") {
			stays := !strings.HasPrefix(strings.TrimSpace(line), "#") || strings.Contains(string(got), strings.TrimSpace(line))
			assert.True(t, stays, "the comment %q stays in\n%s\nwhich is now\n%s", line, data, got)
		}
		doc = assert.Value(yamljson.Parse(got))(t)
		var want, have any
		n := doc.Root.At(path)
		read := n != nil && json.Unmarshal(n.JSON(), &have) == nil && json.Unmarshal([]byte(value), &want) == nil
		assert.True(t, read, "%q added to\n%s\nis\n%s", path, data, got)
	})
}
