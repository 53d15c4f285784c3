package registry

import (
	"encoding/json"

	"github.com/mcpbelt/mcpbelt/mcp"
)

// blockOverhead is what a block takes in memory beside what it holds.
const blockOverhead = 512

// memoryOfResult returns about how many bytes a result takes.
func memoryOfResult(res *mcp.CallToolResult, most int) int {
	if res == nil {
		return 0
	}
	total := blockOverhead + memoryOfMeta(res.Meta, most)
	if raw, ok := res.StructuredContent.(json.RawMessage); ok {
		total += len(raw)
	} else {
		total += memoryOfJSON(res.StructuredContent, most)
	}
	for _, c := range res.Content {
		if total > most {
			break
		}
		total += memoryOf(c, most-total)
	}
	return total
}

// memoryOf returns about how many bytes a block takes.
func memoryOf(c mcp.Content, most int) int {
	if !present(c) {
		return blockOverhead
	}
	_, _, data := mediaOf(c)
	total := blockOverhead + sizeOf(c) + len(data)
	switch c := c.(type) {
	case *mcp.TextContent:
		return total + memoryOfMeta(c.Meta, most) + memoryOfFields(c.Annotations != nil, c.Annotations)
	case *mcp.ImageContent:
		return total + memoryOfMeta(c.Meta, most) + memoryOfFields(c.Annotations != nil, c.Annotations)
	case *mcp.AudioContent:
		return total + memoryOfMeta(c.Meta, most) + memoryOfFields(c.Annotations != nil, c.Annotations)
	case *mcp.ResourceLink:
		return total + memoryOfMeta(c.Meta, most) + memoryOfFields(c.Annotations != nil, c.Annotations) +
			memoryOfFields(c.Icons != nil, c.Icons)
	case *mcp.EmbeddedResource:
		if c.Resource.Blob != nil {
			total += len(c.Resource.Text)
		}
		return total + memoryOfMeta(c.Meta, most) + memoryOfMeta(c.Resource.Meta, most) +
			memoryOfFields(c.Annotations != nil, c.Annotations)
	}
	return total + decodedFields*sizeOf(c) // of a kind that no tool should return
}

func memoryOfMeta(meta mcp.Meta, most int) int {
	if meta == nil {
		return 0
	}
	return memoryOfJSON(map[string]any(meta), most)
}

// memoryOfJSON returns about how many bytes a value takes that was decoded from JSON:
// it may be fifty times as long as its text.
func memoryOfJSON(v any, most int) int {
	const (
		value   = 24  // an interface with a number, or what a text needs beside
		members = 512 // of a small map
		member  = 96  // of a large one
	)
	total := value
	switch v := v.(type) {
	case nil, bool, float64:
	case string:
		total += value + len(v)
	case []any:
		total += value * (1 + cap(v) - len(v))
		for _, e := range v {
			if total > most {
				break
			}
			total += memoryOfJSON(e, most-total)
		}
	case map[string]any:
		total += members + member*len(v)
		for key, e := range v {
			if total > most {
				break
			}
			total += len(key) + memoryOfJSON(e, most-total)
		}
	default:
		total += memoryOfFields(v != nil, v)
	}
	return total
}

// decodedFields is how many times as much a value of Go takes as its JSON.
const decodedFields = 16

// memoryOfFields returns about how many bytes a value of Go takes, if it is there.
func memoryOfFields(there bool, v any) int {
	if !there {
		return 0
	}
	data, err := json.Marshal(v)
	if err != nil {
		return noLimit / 16
	}
	return decodedFields * len(data)
}
