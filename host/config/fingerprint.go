package config

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"net/http"
	"slices"
	"strconv"

	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// fingerprint returns the fingerprint of the entry.
func (e *entry) fingerprint(s *Server) string {
	d := digest{sha256.New()}
	address := cmp.Or(e.verbatim("url"), e.verbatim("httpUrl"), e.verbatim("serverUrl"))
	command := e.verbatim("command")
	var args []string
	for _, key := range []string{dialect.CommandLine, "args"} {
		if m := e.field(key); m != nil {
			for _, arg := range m.Value.Elems {
				args = append(args, arg.Text)
			}
		}
	}
	if e.field(dialect.CommandLine) != nil && len(args) > 0 {
		command, args = args[0], args[1:]
	}
	d.list("mcpbelt fingerprint 1", s.Transport, command, e.verbatim("cwd"), address)
	d.list(args...)
	d.list(names(e.variables, func(name string) string { return name })...)
	d.list(names(e.headerPairs, http.CanonicalHeaderKey)...)
	if file := e.verbatim("envFile"); file != "" {
		d.list("envFile", file)
	}
	if s.Identity != "" && s.Identity != identityShared {
		d.list("identity", s.Identity, http.CanonicalHeaderKey(s.UserHeader))
	}
	if f := e.field("isolation"); f != nil {
		d.list("isolation")
		d.written(f.Value)
	}
	return hex.EncodeToString(d.Sum(nil))
}

// written hashes a value as it stands in the file, in whatever order its keys are.
func (d digest) written(n *jsonc.Node) {
	switch n.Kind {
	case jsonc.Object:
		members := slices.Clone(n.Members)
		slices.SortFunc(members, func(a, b jsonc.Member) int {
			return cmp.Compare(dialect.SnakeCase(a.Key), dialect.SnakeCase(b.Key))
		})
		d.list("object", strconv.Itoa(len(members)))
		for i := range members {
			d.list(dialect.SnakeCase(members[i].Key))
			d.written(&members[i].Value)
		}
	case jsonc.Array:
		d.list("array", strconv.Itoa(len(n.Elems)))
		for i := range n.Elems {
			d.written(&n.Elems[i])
		}
	default:
		d.list(n.Kind.String(), n.Text)
	}
}

// verbatim returns the string of a key as written, or "".
func (e *entry) verbatim(key string) string {
	if m := e.field(key); m != nil && m.Value.Kind == jsonc.String {
		return m.Value.Text
	}
	return ""
}

// names returns the sorted names of variables or headers, each once and in its one
// spelling.
func names(pairs []pair, spell func(string) string) []string {
	var names []string
	for _, p := range pairs {
		names = append(names, spell(p.name))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// A digest hashes lists of strings so that no two lists of lists look the same.
type digest struct{ hash.Hash }

func (d digest) list(values ...string) {
	fmt.Fprintf(d, "%d[", len(values))
	for _, v := range values {
		fmt.Fprintf(d, "%d:%s", len(v), v)
	}
}
