// Package otel records what goes between MCP clients and servers, and the calls of
// tools, as spans and metrics of OpenTelemetry, by its semantic conventions for MCP
// and generative AI. It is imported as belt, because the API of OpenTelemetry is
// called otel as well:
//
//	telemetry := belt.New(nil)
//	opts.Client.Tracer = telemetry       // all requests of all servers of a host
//	telemetry.Registry(h.Registry())     // the calls of tools, native ones too
//	telemetry.Server(server)             // a server of the official SDK
//
// Each line works alone. The trace goes on at the other end: its context is carried
// in _meta of each request, and in the header of the HTTP request.
//
// What is said in requests and results is never recorded, unless [Options] ask for
// it. The names of the attributes may change with the conventions, which are not
// final.
package otel
