// Package adaptertest has every adapter show the same things, with the framework's
// real runtime against a model that is scripted, in the wire format of its provider.
//
//	adaptertest.Test(t, adaptertest.Adapter{
//		Name: "openai", Runtime: "Responses", Wire: wire.Responses{},
//		Start: func(t *testing.T, r *registry.Registry, url string) adaptertest.Agent { ... },
//	})
//
// The tools are those of a real MCP server in this process, and some native ones.
// The results are kept in docs/adapters, where the table of docs/adapters.md is
// made of it; `make adapters` writes both.
package adaptertest
