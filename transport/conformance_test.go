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

func TestCommandConforms(t *testing.T) {
	transporttest.TestTransport(t, func(*testing.T) transporttest.Recipe {
		c := child("sdk")
		c.MaxMessage = smallLimit
		return transporttest.Recipe{Transport: c, MaxMessage: smallLimit}
	})
}

func servePipe(ctx context.Context, t mcp.Transport) error {
	return transporttest.NewServer().Run(ctx, t)
}

func TestPipeConforms(t *testing.T) {
	transporttest.TestTransport(t, func(*testing.T) transporttest.Recipe {
		return transporttest.Recipe{
			Transport:  &transport.Pipe{Serve: servePipe, MaxMessage: smallLimit},
			MaxMessage: smallLimit,
		}
	})
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
	for name, opts := range map[string]*sdk.StreamableHTTPOptions{
		"event streams": nil,
		"JSON answers":  {JSONResponse: true},
	} {
		t.Run(name, func(t *testing.T) {
			transporttest.TestTransport(t, func(t *testing.T) transporttest.Recipe {
				return transporttest.Recipe{
					Transport:     &transport.HTTP{URL: listen(t, streamable(opts)), MaxMessage: smallLimit},
					MaxMessage:    smallLimit,
					ProgressApart: opts != nil, // it comes on the listening stream
				}
			})
		})
	}
}

func TestSSEConforms(t *testing.T) {
	transporttest.TestTransport(t, func(t *testing.T) transporttest.Recipe {
		return transporttest.Recipe{
			Transport:  &transport.SSE{URL: listen(t, legacySSE()), MaxMessage: smallLimit},
			MaxMessage: smallLimit,
		}
	})
}

func TestAutoConforms(t *testing.T) {
	for name, h := range map[string]http.Handler{"streamable": streamable(nil), "SSE": legacySSE()} {
		t.Run(name, func(t *testing.T) {
			transporttest.TestTransport(t, func(t *testing.T) transporttest.Recipe {
				return transporttest.Recipe{Transport: &transport.Auto{URL: listen(t, h)}}
			})
		})
	}
}
