package registry

import (
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

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
	Annotated     bool          `json:"annotated"`               // the tool has annotations that say something of the following
	ReadOnly      bool          `json:"readOnly"`                // it changes nothing; default false
	Destructive   bool          `json:"destructive"`             // it may destroy; default true, false if ReadOnly
	Idempotent    bool          `json:"idempotent"`              // calling it again changes nothing more; default false, true if ReadOnly
	OpenWorld     bool          `json:"openWorld"`               // it deals with the world outside; default true
	SideEffects   bool          `json:"sideEffects"`             // it has effects beside its result; default: not ReadOnly
	ExecutionTime ExecutionTime `json:"executionTime,omitempty"` // how long it takes
}

// Hints returns what the annotations claim. The spellings readOnlyHint and
// read_only_hint and their like are understood, as are sideEffectsHint and
// executionTimeHint; where two contradict each other the stricter one counts.
//
// A value of another type says nothing: "true" is not true. A tool that calls
// itself destructive, or says that it has side effects, is not read-only, whatever
// else it says. To have no side effects makes a tool neither read-only nor
// harmless.
//
// RawAnnotations is what counts if there is one, and Annotations otherwise.
func (d *Definition) Hints() Hints {
	var readOnly, destructive, idempotent, openWorld, sideEffects claim
	var time ExecutionTime
	// Those of native tools may be anything; what is no JSON object says nothing.
	if raw := annotationsOf(d); isObject(raw) {
		for key, value := range jsonscan.Fields(raw) {
			switch string(key) {
			case "readOnlyHint", "read_only_hint":
				readOnly.read(value, false)
			case "destructiveHint", "destructive_hint":
				destructive.read(value, true)
			case "idempotentHint", "idempotent_hint":
				idempotent.read(value, false)
			case "openWorldHint", "open_world_hint":
				openWorld.read(value, true)
			case "sideEffectsHint", "side_effects_hint":
				sideEffects.read(value, true)
			case "executionTimeHint", "execution_time_hint":
				time = time.orLonger(value)
			}
		}
	}
	reads := readOnly.or(false) && !destructive.or(false) && !sideEffects.or(false)
	return Hints{
		Annotated:     readOnly.said || destructive.said || idempotent.said || openWorld.said || sideEffects.said || time != "",
		ReadOnly:      reads,
		Destructive:   destructive.or(!reads),
		Idempotent:    idempotent.or(reads),
		OpenWorld:     openWorld.or(true),
		SideEffects:   sideEffects.or(!reads) || destructive.or(false),
		ExecutionTime: time,
	}
}

// A claim is a hint that is true, false or missing.
type claim struct{ said, value bool }

// or returns what is claimed, or the default.
func (c claim) or(fallback bool) bool {
	if c.said {
		return c.value
	}
	return fallback
}

// read notes what the tool says. If it says the opposite too, the stricter value counts.
func (c *claim) read(text []byte, strict bool) {
	value := string(text) == "true"
	switch {
	case !value && string(text) != "false":
	case !c.said:
		*c = claim{true, value}
	case c.value != value:
		c.value = strict
	}
}

// orLonger returns t or the execution time that value names, the longer one.
func (t ExecutionTime) orLonger(value []byte) ExecutionTime {
	text, _ := jsonscan.Text(value)
	for _, known := range []ExecutionTime{Slow, Medium, Fast} {
		if t == known || strings.EqualFold(string(text), string(known)) {
			return known
		}
	}
	return t
}
