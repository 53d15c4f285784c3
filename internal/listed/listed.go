// Package listed hands on the items of a server's lists as the server wrote them, to callers deep above the client whose types have
// no place for that.
package listed

import (
	"context"
	"encoding/json"
)

type key struct{}

// With returns a context that has take called with each item of the lists that are read with it, and with its JSON. It is called by
// several goroutines if several servers are asked.
func With(ctx context.Context, take func(item any, raw json.RawMessage)) context.Context {
	return context.WithValue(ctx, key{}, take)
}

// Note gives an item, a pointer, to who reads the list.
func Note(ctx context.Context, item any, raw json.RawMessage) {
	if take, ok := ctx.Value(key{}).(func(any, json.RawMessage)); ok {
		take(item, raw)
	}
}
