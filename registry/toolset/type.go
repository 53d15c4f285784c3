package toolset

import (
	"encoding/json"

	"github.com/mcpbelt/mcpbelt/internal/toolbrief"
)

// Type returns the type of the values that a JSON Schema describes as TypeScript has it, in one
// short line: {id: number, tags?: string[]}. It says less than the schema, and says where with
// "…". It is for programs that have a model write code which calls tools.
func Type(schema json.RawMessage) string { return toolbrief.Type(schema) }
