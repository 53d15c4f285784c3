// Package otel records what goes between MCP clients and servers, and the calls of
// tools, as spans and metrics of OpenTelemetry, by its semantic conventions for MCP
// and generative AI. It is imported as belt, because the API of OpenTelemetry is
// called otel as well:
//
//	opts.Client.Tracer = belt.New(nil)   // all of a host: requests, and calls of tools
//
// The same of a client alone records its requests. [Telemetry.Registry] is for a
// registry without a host. The trace goes on at the other end: its context is carried
// in _meta of each request, and in the header of the HTTP request.
//
// The content of requests and results is never recorded, unless [Options] ask for
// it. The names of the attributes may change with the conventions, which are not
// final.
package otel
