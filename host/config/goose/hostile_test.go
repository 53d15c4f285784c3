package goose

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// odd are texts at the edges of YAML.
func odd() []string {
	return []string{
		"", "extensions:", "extensions: []", "extensions: {}\n---\na: 1", "\ufeffextensions:\n  a: {cmd: x}\n", "extensions:\r\n  a:\r\n    cmd: x\r\n",
		"extensions: &a\n  b: *a", "a: &a {x: 1}\nextensions:\n  b:\n    <<: *a\n    cmd: x", "extensions:\n  a: {<<: [{cmd: x}, {cmd: y}], cmd: z}",
		"extensions:\n  ? [a]\n  : b", "extensions:\n  1: {cmd: x}\n  ~: {cmd: y}", "extensions:\n  a: {cmd: !!str 5, timeout: .inf, x: 0o17, y: .nan, z: 1_0}",
		"extensions:\n  a:\n    cmd: |\n      x\n    envs: {A: \"\\x00\"}", "extensions: {a: {cmd: 'x\u2028y'}}\n", "extensions:\n  a: {<<: 1}", "!!binary aGk=", "%YAML 1.1\n---\nextensions: {}",
		"extensions:\n  a: {type: stdio, cmd: x, env_keys: [A, A], config: {cmd: y}}",
	}
}

func parseError(t *testing.T, data string) string {
	t.Helper()
	_, err := config.Parse(t.Context(), "f.yaml", []byte(data), &config.Options{Formats: []config.Format{Format()}})
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestBombs: files that would grow are refused, and say why.
func TestBombs(t *testing.T) {
	laughs := "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
	for i := range 9 {
		laughs += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i), 10), ","))
	}
	merges := "m0: &m0 {k: v}\n"
	for i := range 40 {
		merges += fmt.Sprintf("m%d: &m%d {<<: [*m%d, *m%d]}\n", i+1, i+1, i, i)
	}
	for name, test := range map[string]struct{ in, want string }{
		"size":        {strings.Repeat("# x\n", jsonc.MaxSize/4+1), "the file has 16777220 bytes, more than the limit of 16777216"},
		"laughs":      {laughs, "the file has more than 1048576 values, with its aliases written out"},
		"merges":      {merges, "the file has more than 1048576 values, with its aliases written out"},
		"itself":      {"extensions: &a {b: *a}", ""},
		"deep":        {"a: " + strings.Repeat("[", 300) + strings.Repeat("]", 300), "exceeded max depth of 128"},
		"deep blocks": {strings.Repeat("- ", 300) + "x", "exceeded max depth of 128"},
		"many":        {"a: [" + strings.Repeat("1,", 1100000) + "]", "the file has about 1100001 values, more than the limit of 1048576"},
		"not UTF-8":   {"a: \xff", "f.yaml:1:4: invalid UTF-8: save the file as UTF-8"},
		"alias":       {"a: *hunter2", "f.yaml:1:4: an alias or an anchor that cannot be used: put a text that starts with * or & in quotes"},
		"empty":       {"# nothing\n", "f.yaml:1:1: the file is empty"},
		"documents":   {"a: 1\n---\nb: 2", "f.yaml:1:1: the file has more than one document: remove those after ---"},
		"key":         {"? [hunter2]\n: 1", "f.yaml:1:3: a key must be a text"},
	} {
		got := parseError(t, test.in)
		if got == "" || !strings.HasSuffix(got, test.want) || strings.Contains(got, "hunter2") {
			t.Errorf("%s:\n got %.300s\nwant %s", name, got, test.want)
		}
	}
}

// TestLongLine: each of many values in one line has its place, and finding them does not
// take the square of their number.
func TestLongLine(t *testing.T) {
	const n = 200000
	doc := assert.Value(parse([]byte("é: [&a x" + strings.Repeat(", *a", n/2) + strings.Repeat(", é", n/2) + "]\n")))(t)
	list := doc.Root.Members[0].Value
	last := list.Elems[n]
	if len(list.Elems) != n+1 || doc.Position(last.Offset).Column != 10+4*n/2+4*(n/2-1)+2 {
		t.Errorf("%d values, the last at %v", len(list.Elems), doc.Position(last.Offset))
	}
	if string(doc.Source(&last)) != "é" {
		t.Errorf("source %q", doc.Source(&last))
	}
}

// TestPlaces: places count bytes in lines as editors do.
func TestPlaces(t *testing.T) {
	const in = "\ufeff# é\r\nextensions: {\"s é\": {cmd: 5}}\r\n"
	c := assert.Value(config.Parse(t.Context(), "f.yaml", []byte(in), &config.Options{Formats: []config.Format{Format()}}))(t)
	s := c.Servers[0]
	if want := `f.yaml:2:28: extensions."s é".cmd: must be a string`; s.Source.Line != 2 || s.Err == nil || !strings.Contains(s.Err.Error(), want) {
		t.Errorf("line %d, %v", s.Source.Line, s.Err)
	}
}

// TestMark: a byte order mark is no column.
func TestMark(t *testing.T) {
	if got, want := parseError(t, "\ufeffextensions: {a: *x}"), "f.yaml:1:17: "; !strings.HasPrefix(got, want) {
		t.Errorf("%s, want %s", got, want)
	}
	c, err := config.Parse(t.Context(), "f.yaml", []byte("\ufeffextensions: {a: {cmd: 5}}"), &config.Options{Formats: []config.Format{Format()}})
	if err != nil || !strings.HasPrefix(fmt.Sprint(c.Servers[0].Err), "f.yaml:1:23: ") {
		t.Errorf("%v, %v", c, err)
	}
}

// secretStore has one secret.
type secretStore struct{}

func (secretStore) Secret(_ context.Context, name string) (config.Secret, bool, error) {
	return config.Secret("stored-" + name), name == "STORED", nil
}

func (secretStore) SetSecret(context.Context, string, config.Secret) error {
	return errors.New("not here")
}

// TestEnvKeys: the environment comes first, then the secret store, and "envs" wins.
func TestEnvKeys(t *testing.T) {
	in := "extensions:\n  a: {type: stdio, cmd: x, env_keys: [SET, BOTH, STORED, NOWHERE], envs: {BOTH: entry}}\n"
	c := assert.Value(config.Parse(t.Context(), "f.yaml", []byte(in), &config.Options{Formats: []config.Format{Format()},
		Secrets: secretStore{},
		Lookup:  func(name string) (string, bool) { return "env-" + name, name == "SET" || name == "BOTH" }}))(t)
	s := c.Servers[0]
	if s.Env["SET"].Reveal() != "env-SET" || s.Env["BOTH"].Reveal() != "entry" || s.Env["STORED"].Reveal() != "stored-STORED" || len(s.Env) != 3 {
		t.Errorf("%v", s)
	}
	if want := "f.yaml:2:58: extensions.a.env_keys[3]: the secret NOWHERE "; s.Err == nil || !strings.HasPrefix(s.Err.Error(), want) {
		t.Errorf("%v, want %s", s.Err, want)
	}
}
