//lint:file-ignore SA1019 Sampling is deprecated since revision 2026-07-28, and works.

package host_test

import (
	"context"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// A server that is tried is told what the host can do, since it lists its tools by that; no one is asked.
func TestTryDeclaresAndDeclines(t *testing.T) {
	for _, asks := range []bool{true, false} {
		opts := (&pipeServers{}).options()
		if asks {
			opts.Client.Elicit = func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				t.Error("the user is asked")
				return nil, nil
			}
			opts.Client.Sample = func(context.Context, *mcp.SampleRequest) (*mcp.SampleResult, error) {
				t.Error("the model is asked")
				return nil, nil
			}
		}
		h := newHost(t, opts, &config.Config{})
		err := h.Try(t.Context(), &config.Server{Name: "s", Command: "x", Transport: config.TransportStdio}, nil, func(ctx context.Context, _ mcp.Transport, o *mcp.ClientOptions) error {
			assert.Equal(t, o.Elicit != nil, asks, "it declares elicitation")
			assert.Equal(t, o.Sample != nil, asks, "it declares sampling")
			if asks {
				answer := assert.Value(o.Elicit(ctx, nil))(t)
				assert.Equal(t, answer.Action, "decline")
				assert.Fails(t, assert.Err(o.Sample(ctx, nil)), "sampling")
			}
			return nil
		})
		assert.OK(t, err)
	}
}
