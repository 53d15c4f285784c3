package toolset

import (
	"bytes"
	"encoding/json"

	"github.com/mcpbelt/mcpbelt/internal/canonjson"
	"github.com/mcpbelt/mcpbelt/registry"
)

// EstimateTokens returns how many tokens the definition of a tool takes, as [Finder.Toolset] estimates
// it: of its name, description and input schema, in JSON.
func EstimateTokens(tool *registry.Definition) int {
	if tool == nil {
		return 0
	}
	return estimateTokensIn(appendDefinition(nil, tool))
}

// appendDefinition appends what counts of a definition: the part that providers
// give to models, as compact JSON.
func appendDefinition(text []byte, def *registry.Definition) []byte {
	text = canonjson.AppendString(append(text, `{"name":`...), def.Name)
	text = canonjson.AppendString(append(text, `,"description":`...), def.Description)
	compact := bytes.NewBuffer(append(text, `,"inputSchema":`...))
	if json.Compact(compact, def.InputSchema) != nil {
		compact.Write(def.InputSchema) // cannot be: it was checked
	}
	compact.WriteByte('}')
	return compact.Bytes()
}

// estimateTokensIn returns about how many tokens a text takes. The definitions of real
// servers take 4.45 bytes for each token of o200k_base, the encoding of OpenAI's models, and
// no one of them a third more or less.
func estimateTokensIn(text []byte) int { return (len(text)*9 + 39) / 40 }
