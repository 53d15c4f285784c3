package config

import (
	"path/filepath"
	"slices"

	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// A Scope says whose file an entry comes from, and so how far it is trusted.
type Scope string

// The scopes, strongest first: of entries of one name, that of the stronger scope
// counts.
const (
	// ScopeProgram is what the program itself has named or made. A Source without a
	// Scope is of it. No file that merely lies somewhere takes the place of its servers.
	ScopeProgram Scope = "program"
	// ScopeLocal is a section for one project in a file of ScopeUser, as Claude Code and
	// Kode have them: what the user has chosen for that folder. No file in the folder
	// takes its name, and it needs no approval. As Options.Scope it is that section of
	// the file alone, for Options.Project, which must be set.
	ScopeLocal Scope = "local"
	// ScopeProject is a file in a project's folder, which others may have
	// written. A host starts its servers only when the user has approved them. One of
	// the name of a server of the user hides that, as [Config.Shadowed] says; a host
	// runs the user's own until the other one is approved.
	ScopeProject Scope = "project"
	// ScopeRC is a file .mcprc. It lies in a project's folder too, and so needs
	// approval as well.
	ScopeRC Scope = "rc"
	// ScopeUser is a file in the user's own folders.
	ScopeUser Scope = "user"
	// ScopeProposed is an entry that says "proposed": true, in a file of one of the user's
	// scopes. A caller who may change entries, and not start programs, wrote it there,
	// such as a client of a gateway: it needs approval as one of a project's file does.
	ScopeProposed Scope = "proposed"
)

// NeedsApproval reports whether the servers of the scope must not be started before
// they were approved.
func (s Scope) NeedsApproval() bool {
	return s != ScopeLocal && s != ScopeUser && s != ScopeProgram && s != ""
}

// ProjectFolder returns the folder of the file if that is a project's, and others may have written
// it; otherwise it is empty. A ledger in that folder decides about servers of that file alone, see
// ledger.Options.Open.
func (s Source) ProjectFolder() string {
	if s.File == "" || s.Scope != ScopeProject && s.Scope != ScopeRC {
		return ""
	}
	return filepath.Dir(s.File)
}

// Stricter returns the one of two scopes that trusts less. If they trust alike it is s, if
// that says anything.
func (s Scope) Stricter(other Scope) Scope {
	strictness := func(s Scope) int {
		if s.NeedsApproval() {
			return 3
		}
		return map[Scope]int{"": 0, ScopeProgram: 1, ScopeLocal: 2, ScopeUser: 2}[s]
	}
	if strictness(other) > strictness(s) {
		return other
	}
	return s
}

// scopeOf returns the scope of one entry.
func (p *parser) scopeOf(found *dialect.Entry) Scope {
	if m := found.Value.Member("proposed"); m != nil && m.Value.Kind == jsonc.Bool && m.Value.Text == "true" && !p.scope.NeedsApproval() {
		return ScopeProposed
	}
	return p.scope
}

// scopeOfFile returns the scope of a file for which the program says none: that of the
// project's file whose name it has, unless it is one of the user's own files.
func scopeOfFile(file string) Scope {
	path, err := filepath.Abs(file)
	if err != nil {
		return ScopeProject
	}
	var scope Scope
	for _, c := range clients() {
		for _, name := range c.project {
			if endsWith(path, name) {
				scope = projectScope(name)
			}
		}
	}
	if scope == "" || slices.ContainsFunc(Find(nil), func(l Location) bool { return l.Path == path }) {
		return ScopeProgram
	}
	return scope
}

// rank orders scopes, strongest first. One that this package does not know is as weak
// as it is untrusted.
func (s Scope) rank() int {
	order := []Scope{"", ScopeProgram, ScopeLocal, ScopeProject, ScopeRC, ScopeUser}
	if i := slices.Index(order, s); i >= 0 {
		return max(i, 1)
	}
	return len(order)
}
