package mcp

import (
	"context"
	"maps"
	"net/http"
)

// WithHTTPHeader returns a context whose HTTP requests have further header fields,
// as by [RequestInfo.AddHeader]. Those that ctx has already stay. The header must not
// be changed afterwards.
func WithHTTPHeader(ctx context.Context, header http.Header) context.Context {
	if len(header) == 0 {
		return ctx
	}
	if already := HTTPHeader(ctx); already != nil {
		header = maps.Clone(header)
		for name, values := range already {
			delete(header, http.CanonicalHeaderKey(name))
			header[name] = values
		}
	}
	return context.WithValue(ctx, headerKey{}, header)
}

// HTTPHeader returns the header fields that a [Conn] over HTTP adds to the requests
// that it makes with ctx, unless they have such fields already; nil if there are
// none. It must not be changed.
func HTTPHeader(ctx context.Context) http.Header {
	header, _ := ctx.Value(headerKey{}).(http.Header)
	return header
}

type headerKey struct{}
