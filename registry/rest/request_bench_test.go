package rest

import (
	"encoding/json"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// What it costs to make a request of arguments, without sending it.
func BenchmarkRequest(b *testing.B) {
	s := newTestService(b, &API{Name: "shop", BaseURL: "https://api.example", Endpoints: []Endpoint{hostileEndpointNamed("op")}})
	args := json.RawMessage(`{"id":"order 66","q":"a&b","deep":{"k":"d"},"list":["l",1],"X-H":"h","ck":"c","field":"some text","other":"more"}`)
	b.ReportAllocs()
	for b.Loop() {
		assert.Value(s.ops[0].build(args))(b)
	}
}

func hostileEndpointNamed(name string) Endpoint {
	ep := hostileEndpoint()
	ep.Name = name
	return ep
}

// What it costs to check and prepare a large API.
func BenchmarkNew(b *testing.B) {
	api := &API{Name: "shop", BaseURL: "https://api.example"}
	for i := range 1_000 {
		ep := hostileEndpointNamed("op" + string(rune('a'+i%26)) + "-" + jsonOf(b, i))
		api.Endpoints = append(api.Endpoints, ep)
	}
	b.ReportAllocs()
	for b.Loop() {
		s := assert.Value(New(api, nil))(b)
		_ = s.Close()
	}
}
