package registry

import (
	"encoding/json"
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
	var c claims
	c.read(annotationsOf(d))
	return c.hints()
}

// claims are what annotations say, and whether they say it.
type claims struct {
	readOnly, destructive, idempotent, openWorld, sideEffects claim

	time ExecutionTime
}

// A claim is a hint that is true, false or missing.
type claim struct{ said, value bool }

// or returns what is claimed, or the default.
func (c claim) or(otherwise bool) bool {
	if c.said {
		return c.value
	}
	return otherwise
}

func (c claims) hints() Hints {
	harms := c.destructive.or(false) || c.sideEffects.or(false)
	readOnly := c.readOnly.or(false) && !harms
	return Hints{
		Annotated: c.readOnly.said || c.destructive.said || c.idempotent.said || c.openWorld.said ||
			c.sideEffects.said || c.time != "",
		ReadOnly:      readOnly,
		Destructive:   c.destructive.or(!readOnly),
		Idempotent:    c.idempotent.or(readOnly),
		OpenWorld:     c.openWorld.or(true),
		SideEffects:   c.sideEffects.or(!readOnly) || c.destructive.or(false),
		ExecutionTime: c.time,
	}
}

// read reads annotations as a server sent them. Those of native tools may be
// anything; what is no JSON object says nothing.
func (c *claims) read(raw json.RawMessage) {
	if !isObject(raw) {
		return
	}
	for key, value := range jsonscan.Fields(raw) {
		switch string(key) {
		case "readOnlyHint", "read_only_hint":
			c.readOnly.read(value, false)
		case "destructiveHint", "destructive_hint":
			c.destructive.read(value, true)
		case "idempotentHint", "idempotent_hint":
			c.idempotent.read(value, false)
		case "openWorldHint", "open_world_hint":
			c.openWorld.read(value, true)
		case "sideEffectsHint", "side_effects_hint":
			c.sideEffects.read(value, true)
		case "executionTimeHint", "execution_time_hint":
			c.readTime(value)
		}
	}
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

// readTime notes the execution time, the longest if there are several.
func (c *claims) readTime(value []byte) {
	text, _ := jsonscan.Text(value)
	for _, t := range []ExecutionTime{Slow, Medium, Fast} {
		if c.time == t || strings.EqualFold(string(text), string(t)) {
			c.time = t
			return
		}
	}
}
