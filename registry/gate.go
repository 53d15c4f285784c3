package registry

// GateOptions are the options of the gate, which all tools of servers pass
// before they are listed. Zero means the default. Native tools do not pass it.
type GateOptions struct {
	// MaxTools is how many tools of one server are listed. Default: 5,000.
	MaxTools int
	// MaxBytes is how large all tools of one server are together, in bytes of
	// names, texts and schemas. Default: 32 MiB.
	MaxBytes int
	// MaxName is the length of a tool's name at its server, in bytes.
	// Default: 128.
	MaxName int
	// MaxDescription is the length of a tool's description, and of each text in
	// its schemas, in bytes. Default: 16 KiB.
	MaxDescription int
	// Severity, if set, replaces the severity of each finding. It must be a pure
	// function, safe for concurrent use. A tool with a finding that makes it
	// unusable, such as a schema that cannot be read, is blocked all the same.
	Severity func(server, tool string, f Finding) Severity
}

type gate struct{ opts GateOptions }

func newGate(opts GateOptions) *gate { return &gate{opts} }

// check returns what is to be said of one tool by itself, the severest first. It
// is a pure function of its arguments.
func (g *gate) check(def *Definition) []Finding { return nil }

// references returns what is to be said of a tool that speaks of other servers'.
// other returns the server, other than the tool's own, that has the name word or
// a tool of the name word.
func (g *gate) references(def *Definition, other func(word string) (server string, ok bool)) []Finding {
	return nil
}

// admit holds all the tools of a server against the limits on their number and
// size together. It returns a finding for each one that is too much.
func (g *gate) admit(defs []*Definition) map[*Definition]Finding { return nil }
