package gateway

import (
	"encoding/json"
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

// asHandsAI returns the client of a request to the two paths of HandsAI: the tools by GET, and a call by POST, each as one
// JSON-RPC message, without a session that lasts. An id is a string; one of another kind is sent back as it is. All answers
// have the status 200.
func (x *exchange) asHandsAI() *peer {
	p := (&peer{shown: x.shown, caller: x.caller, revision: protocol.NewestSession(), mode: modes.Direct, handsai: true}).from(x.r)
	p.session = newSession("", p, nil)
	return p
}

func (x *exchange) listForHandsAI() {
	p := x.asHandsAI()
	defer p.session.end()
	all := listing.Join("tools", x.view.catalogue(p.context(x.r.Context()), p).tools, "", 0)
	x.json(http.StatusOK, message.Response(json.RawMessage{}, all, nil))
}

func (x *exchange) callForHandsAI() {
	body, ok := x.readBody()
	if !ok {
		return
	}
	m, id, failed := message.Read(body)
	switch {
	case failed != nil && failed.Code == message.CodeParse && jsonscan.Valid(body) == nil, failed == nil && m.IsResponse():
		failed = message.Failure(message.CodeInvalidRequest, "not a JSON-RPC request")
	case failed == nil && m.Method != protocol.CallTool:
		failed = message.Failure(message.CodeNoMethod, "method not found: %.100s", m.Method)
	case failed == nil && m.Params == nil:
		failed = message.InvalidParams("params is missing")
	}
	if failed != nil {
		x.fail(http.StatusOK, id, failed)
		return
	}
	p := x.asHandsAI()
	defer p.session.end()
	j := p.newRequest(&m, message.ParamsOf(m.Params), stream.New("")).serve(x.r.Context())
	select {
	case <-j.done:
		x.json(http.StatusOK, message.Response(append(json.RawMessage{}, m.ID...), j.result, j.err))
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
		return message.Failure(message.CodeInternal, "%v", r.peer.unknownTool(name, err))
	case err != nil:
		res = registry.ErrorResult(err)
	}
	return message.Failure(message.CodeInternal, "%s", strings.TrimSpace(res.WithContent().Text()))
}
