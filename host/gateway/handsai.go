package gateway

import (
	"errors"
	"net/http"
	"strings"

	"github.com/mcpbelt/mcpbelt/host/gateway/internal/listing"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/message"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/modes"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/stream"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
)

// The paths of HandsAI below a view.
const (
	handsaiList = "/mcp/tools/list"
	handsaiCall = "/mcp/tools/call"
)

// serveHandsAI serves the two paths of HandsAI: the tools by GET, and a call by POST, each as one
// JSON-RPC message, without a session. An id is a string; one of another kind is
// sent back as it is. All answers have the status 200.
func (x *exchange) serveHandsAI(path string) {
	p := (&peer{shown: x.shown, caller: x.caller, revision: protocol.NewestSession(), mode: modes.Direct, handsai: true}).from(x.r)
	p.session = newSession("", p)
	defer p.session.end()
	ctx := p.context(x.r.Context())
	if want := map[string]string{handsaiList: http.MethodGet, handsaiCall: http.MethodPost}[path]; x.r.Method != want {
		x.w.Header().Set("Allow", want)
		writeText(x.w, http.StatusMethodNotAllowed, "use "+want)
		return
	}
	if path == handsaiList {
		all := listing.Join("tools", x.view.catalogue(ctx, p).tools, "", 0)
		x.json(http.StatusOK, message.WithoutNullID(message.Response(nil, all, nil), nil))
		return
	}
	body, ok := x.readBody()
	if !ok {
		return
	}
	m, err := jsonscan.Scan(body)
	failed := message.Check(&m)
	switch {
	case err != nil && jsonscan.Valid(body) != nil:
		failed = message.Failure(message.CodeParse, "the message cannot be read: %v", err)
	case err != nil || failed == nil && m.IsResponse():
		failed = message.Failure(message.CodeInvalidRequest, "not a JSON-RPC request")
	case failed == nil && m.Method != protocol.CallTool:
		failed = message.Failure(message.CodeNoMethod, "method not found: %.100s", m.Method)
	case failed == nil && m.Params == nil:
		failed = message.InvalidParams("params is missing")
	}
	if failed != nil {
		x.fail(http.StatusOK, message.ValidOr(m.ID), failed)
		return
	}
	r := p.newRequest(&m, message.ParamsOf(m.Params), stream.New(""))
	j := r.serve(ctx)
	select {
	case <-j.done:
		x.json(http.StatusOK, message.WithoutNullID(message.Response(m.ID, j.result, j.err), m.ID))
	case <-x.r.Context().Done():
		j.cancel()
	}
}

// handsaiError returns the error of a call that failed, which is none of a tool there.
func (r *request) handsaiError(name string, res *mcp.CallToolResult, err error) *mcp.JSONRPCError {
	switch {
	case errors.As(err, new(*registry.ArgumentsError)):
		return message.InvalidParams("%s", strings.TrimSpace(registry.ErrorResult(err).Text()))
	case errors.As(err, new(*registry.UnknownToolError)):
		return message.Failure(message.CodeInternal, "%s", r.unknownTool(name, err).Message)
	case err != nil:
		res = registry.ErrorResult(err)
	}
	return message.Failure(message.CodeInternal, "%s", strings.TrimSpace(res.WithContent().Text()))
}
