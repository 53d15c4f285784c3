package message

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/listed"
)

// AsSaid returns a context to read lists in, and what returns the JSON of an item that was read in it.
func AsSaid(ctx context.Context) (context.Context, func(item any) json.RawMessage) {
	var said sync.Map
	return listed.With(ctx, func(item any, raw json.RawMessage) { said.Store(item, raw) }), func(item any) json.RawMessage {
		if raw, ok := said.Load(item); ok {
			return raw.(json.RawMessage)
		}
		return Marshal(item) // it has flaws
	}
}

// FirstCompletions cuts off the values beyond those that the protocol allows: clients that validate refuse all.
func FirstCompletions(result json.RawMessage) json.RawMessage {
	const most = 100
	completion := jsonscan.Member(result, "completion")
	values := slices.Collect(jsonscan.Elements(jsonscan.Member(completion, "values")))
	if len(values) <= most {
		return result
	}
	first := append(append([]byte("["), bytes.Join(values[:most], []byte(","))...), ']')
	completion = WithMember(WithMember(completion, "values", first), "hasMore", []byte("true"))
	return WithMember(result, "completion", completion)
}
