// Tests of all transports by the kit for transports.

package transport_test

import (
	"context"
	"net/http"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
	"github.com/mcpbelt/mcpbelt/transport/transporttest"
)

const smallLimit = 64 << 10

// conforms tests a transport whose limit is smallLimit.
func conforms(t *testing.T, progressApart bool, tr func(t *testing.T) mcp.Transport) {
	t.Helper()
	transporttest.TestTransport(t, func(t *testing.T) transporttest.Recipe {
		return transporttest.Recipe{Transport: patient(tr(t)), MaxMessage: smallLimit, ProgressApart: progressApart}
	})
}

func TestCommandConforms(t *testing.T) {
	conforms(t, false, func(*testing.T) mcp.Transport {
		c := child("sdk")
		c.MaxMessage = smallLimit
		return c
	})
}

func servePipe(ctx context.Context, t mcp.Transport) error {
	return transporttest.NewServer().Run(ctx, t)
}

func TestPipeConforms(t *testing.T) {
	conforms(t, false, func(*testing.T) mcp.Transport { return &transport.Pipe{Serve: servePipe, MaxMessage: smallLimit} })
}

func streamable(opts *sdk.StreamableHTTPOptions) http.Handler {
	server := transporttest.NewServer()
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, opts)
}

func legacySSE() http.Handler {
	server := transporttest.NewServer()
	return sdk.NewSSEHandler(func(*http.Request) *sdk.Server { return server }, nil)
}

func TestHTTPConforms(t *testing.T) {
	for name, opts := range map[string]*sdk.StreamableHTTPOptions{"event streams": nil, "JSON answers": {JSONResponse: true}} {
		t.Run(name, func(t *testing.T) {
			conforms(t, opts != nil, func(t *testing.T) mcp.Transport { // progress comes on the listening stream then
				return &transport.HTTP{URL: listen(t, streamable(opts)), MaxMessage: smallLimit}
			})
		})
	}
}

func TestSSEConforms(t *testing.T) {
	conforms(t, false, func(t *testing.T) mcp.Transport {
		return &transport.HTTP{Variant: transport.SSE, URL: listen(t, legacySSE()), MaxMessage: smallLimit}
	})
}

func TestAutoConforms(t *testing.T) {
	for name, h := range map[string]http.Handler{"streamable": streamable(nil), "SSE": legacySSE()} {
		t.Run(name, func(t *testing.T) {
			conforms(t, false, func(t *testing.T) mcp.Transport {
				return &transport.HTTP{Variant: transport.Auto, URL: listen(t, h), MaxMessage: smallLimit}
			})
		})
	}
}
