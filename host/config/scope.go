package config

// A Scope says whose file an entry comes from, and so how far it is trusted.
type Scope string

// The scopes, strongest first: of entries of one name, that of the stronger scope
// counts.
const (
	// ScopeProgram is what the program itself has named or made. It is the scope of
	// entries that are read without another. No file that merely lies somewhere takes
	// the place of its servers.
	ScopeProgram Scope = ""
	// ScopeProject is a file in a project's folder, which somebody else may have
	// written. A host starts its servers only when the user has approved them. One of
	// the name of a server of the user hides that, as [Config.Shadowed] says, even
	// before it is approved.
	ScopeProject Scope = "project"
	// ScopeRC is a file .mcprc. It lies in a project's folder too, and so needs
	// approval as well.
	ScopeRC Scope = "rc"
	// ScopeUser is a file in the user's own folders.
	ScopeUser Scope = "user"
)

// NeedsApproval reports whether the servers of the scope must not be started before
// somebody has approved them.
func (s Scope) NeedsApproval() bool { return s != ScopeUser && s != ScopeProgram }

// rank orders scopes, strongest first. One that this package does not know is as weak
// as it is untrusted.
func (s Scope) rank() int {
	switch s {
	case ScopeProgram:
		return 0
	case ScopeProject:
		return 1
	case ScopeRC:
		return 2
	case ScopeUser:
		return 3
	default:
		return 4
	}
}
