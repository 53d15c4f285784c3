package gateway

import (
	"errors"
	"net/http"

	"github.com/mcpbelt/mcpbelt/host/gateway/internal/listing"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/message"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/modes"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/stream"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
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
	if path == handsaiList {
		if x.r.Method != http.MethodGet {
			x.w.Header().Set("Allow", "GET")
			writeText(x.w, http.StatusMethodNotAllowed, "use GET")
			return
		}
		all := listing.Join("tools", x.view.catalogue(ctx, p).tools, "", 0)
		x.json(http.StatusOK, message.WithoutNullID(message.Response(nil, all, nil), nil))
		return
	}
	if x.r.Method != http.MethodPost {
		x.w.Header().Set("Allow", "POST")
		writeText(x.w, http.StatusMethodNotAllowed, "use POST")
		return
	}
	body, err := x.readBody()
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		x.fail(http.StatusRequestEntityTooLarge, nil, message.Failure(message.CodeInvalidRequest, "the message has more than %d bytes", large.Limit))
		return
	}
	var m jsonscan.Message
	if err == nil {
		m, err = jsonscan.Scan(body)
	}
	if err != nil {
		x.fail(http.StatusBadRequest, nil, message.Failure(message.CodeParse, "the message cannot be read"))
		return
	}
	switch {
	case message.Check(&m) != nil || m.IsResponse():
		x.fail(http.StatusBadRequest, message.ValidOr(m.ID), message.Failure(message.CodeInvalidRequest, "not a JSON-RPC request"))
		return
	case m.Method != protocol.CallTool:
		x.fail(http.StatusNotFound, m.ID, message.Failure(message.CodeNoMethod, "method not found: %.100s", m.Method))
		return
	case m.Params == nil:
		x.fail(http.StatusBadRequest, m.ID, message.InvalidParams("params is missing"))
		return
	}
	r := p.newRequest(&m, stream.New(""))
	j, result, failed := r.serve(ctx)
	if j != nil {
		select {
		case <-j.done:
		case <-x.r.Context().Done():
			j.cancel()
			return
		}
		result, failed = j.result, j.err
	}
	x.json(http.StatusOK, message.WithoutNullID(message.Response(m.ID, result, failed), m.ID))
}
