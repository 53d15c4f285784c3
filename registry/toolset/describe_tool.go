package toolset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/canonjson"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

// describeToolName is the name of the tool that shows definitions.
const describeToolName = "describe_tool"

const describeToolDescription = "Get the whole definitions of tools, with their JSON Schemas, where what search_tools shows is not enough for a correct call."

// describeToolInput is the schema of describeToolArgs, with the bounds that the type
// cannot say.
const describeToolInput = `{"type":"object","properties":{` +
	`"names":{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":10,"description":"names of tools"}},` +
	`"required":["names"],"additionalProperties":false}`

type describeToolArgs struct {
	Names toolNames `json:"names,omitempty"` // that they are missing is said below
}

// toolNames are names of tools. A model that wants one may give it without a list
// around it.
type toolNames []string

// UnmarshalJSON takes an array of strings, or one string.
func (n *toolNames) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil && data[0] == '"' {
		*n = toolNames{one}
		return nil
	}
	var all []string
	if json.Unmarshal(data, &all) != nil || all == nil {
		return errors.New(`"names" must be an array of names of tools`)
	}
	*n = all
	return nil
}

// Bounds of what describe_tool says.
const (
	maxDescribed     = 10
	maxDescribedText = 24 << 10 // bytes; a tool that is larger comes by itself
)

// An undescribed is a name without a definition, and why.
type undescribed struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

func (f *Finder) describeTools(ctx context.Context, in describeToolArgs) (*mcp.CallToolResult, error) {
	if len(in.Names) == 0 {
		wrong := `"names" is empty`
		if in.Names == nil {
			wrong = `"names" is missing`
		}
		return &mcp.CallToolResult{IsError: true, Content: text(wrong + ": it must be an array of names of tools, as search_tools shows them")}, nil
	}
	var described []string
	size := 0
	var seen []*registry.Definition
	var missing []undescribed
	for i, name := range in.Names {
		if i == maxDescribed {
			missing = append(missing, undescribed{plain.Cut(name, maxName), fmt.Sprintf("at most %d tools are described at once; ask again for the others", maxDescribed)})
			break
		}
		def, reason := f.find(ctx, name)
		if def == nil {
			missing = append(missing, undescribed{plain.Cut(name, maxName), reason})
			continue
		}
		if slices.Contains(seen, def) {
			continue
		}
		seen = append(seen, def)
		definition := string(Describe(def))
		if size > 0 && size+len(definition) > maxDescribedText {
			missing = append(missing, undescribed{def.Name, "there is no room left for it here; ask for it alone"})
			continue
		}
		size += len(definition)
		described = append(described, "\n"+definition)
	}
	said := `{"tools":[` + strings.Join(described, ",") + "]"
	if missing != nil {
		raw, err := json.Marshal(missing)
		if err != nil {
			return nil, err
		}
		said += ",\n\"missing\":" + string(raw)
	}
	return &mcp.CallToolResult{IsError: described == nil, Content: text(said + "}")}, nil
}

// find returns the definition of the tool that a name means, or says why there is none.
// A tool that the user of ctx may not call is as unknown as one that does not exist.
func (f *Finder) find(ctx context.Context, name string) (*registry.Definition, string) {
	t, err := f.registry.Find(ctx, name)
	switch {
	case errors.As(err, new(*registry.QuarantinedError)):
		return nil, "it is quarantined: it is new or has changed. It cannot be called before the user has reviewed and approved it."
	case err != nil:
		return nil, result.Text(registry.ErrorResult(err))
	}
	return t.Definition(), ""
}

// Describe returns the whole definition of a tool as a JSON object, as describe_tool shows
// it. The schemas keep their bytes.
func Describe(tool *registry.Definition) json.RawMessage {
	if tool == nil {
		return json.RawMessage("null")
	}
	object := append([]byte(`{"name":`), canonjson.AppendString(nil, tool.Name)...)
	add := func(key, text string) {
		if text != "" {
			object = append(object, `,"`+key+`":`...)
			object = canonjson.AppendString(object, strings.ToValidUTF8(text, "\ufffd"))
		}
	}
	add("title", tool.Title)
	add("server", tool.Origin.Server)
	add("description", tool.Description)
	add("effects", strings.Join(briefHints(tool.Hints()), ", "))
	object = append(append(object, `,"inputSchema":`...), tool.InputSchema...)
	if len(tool.OutputSchema) > 0 {
		object = append(append(object, `,"outputSchema":`...), tool.OutputSchema...)
	}
	return append(object, '}')
}
