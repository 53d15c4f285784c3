package gateway

import (
	"net/http"

	"github.com/mcpbelt/mcpbelt/host/gateway/internal/listing"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/message"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/modes"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/stream"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
)

// The paths of HandsAI below a view.
const (
	handsaiList = "/mcp/tools/list"
	handsaiCall = "/mcp/tools/call"
)

// serveHandsAI serves the two paths of HandsAI: the tools by GET, and a call by POST, each as one
// JSON-RPC message, without a session. An id is a string; one of another kind is
// sent back as it is.
func (x *exchange) serveHandsAI(path string) {
	p := (&peer{shown: x.shown, caller: x.caller, revision: protocol.Revision20251125, mode: modes.Direct}).from(x.r)
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
	m, ok := x.scan(body)
	if !ok {
		return
	}
	switch {
	case m.IsResponse():
		x.fail(http.StatusBadRequest, message.ValidOr(m.ID), message.Failure(message.CodeInvalidRequest, "not a JSON-RPC request"))
		return
	case m.Method != protocol.CallTool:
		x.fail(http.StatusNotFound, m.ID, message.Failure(message.CodeNoMethod, "method not found: %.100s", m.Method))
		return
	case m.Params == nil:
		x.fail(http.StatusBadRequest, m.ID, message.InvalidParams("params is missing"))
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
