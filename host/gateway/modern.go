package gateway

//lint:file-ignore SA1019 Logging and sampling are deprecated since revision 2026-07-28, and work.

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/paramheader"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// postModern serves a message of revision 2026-07-28, which has no sessions: each request says all
// that there is to know.
func (x *exchange) postModern(m *jsonscan.Message) {
	switch {
	case m.IsResponse():
		x.fail(http.StatusBadRequest, nil, failure(codeInvalidRequest, "revision %s has no requests of servers, so there is nothing to respond to", mcp.Revision20260728))
		return
	case m.ID == nil:
		x.w.WriteHeader(http.StatusAccepted)
		return
	}
	p, params, failed := x.modernPeer(x.caller, m)
	p.from(x.r)
	if failed == nil {
		p.choose(x.asked)
	}
	if wrong := x.checkFields(m.Method, p, &params); wrong != nil {
		failed = wrong
	}
	if failed != nil {
		x.fail(http.StatusBadRequest, m.ID, failed)
		return
	}
	out := newStream("")
	reader, _ := out.attach(-1)
	defer out.detach(reader)
	if !x.accepts(typeEvents) {
		reader = 0
	}
	r := &request{gateway: x.gateway, peer: p, id: m.ID, method: m.Method, params: params, out: out}
	if m.Method == "subscriptions/listen" {
		x.listen(r, reader)
		return
	}
	j, result, failed := r.serve(x.r.Context())
	if j != nil {
		x.await(r, j, reader, nil)
		return
	}
	if failed != nil {
		x.fail(statusOf(failed), m.ID, failed)
		return
	}
	x.json(http.StatusOK, response(m.ID, result, nil))
}

// statusOf is the HTTP status of an error in revision 2026-07-28.
func statusOf(err *mcp.JSONRPCError) int {
	switch err.Code {
	case codeNoMethod:
		return http.StatusNotFound
	case codeInvalidParams, codeRevision, codeCapability, codeHeader:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// modernPeer returns the client as a request of revision 2026-07-28 describes it, and the request's
// parameters.
func (v shown) modernPeer(caller *access.Caller, m *jsonscan.Message) (*peer, params, *mcp.JSONRPCError) {
	params := paramsOf(m.Params)
	p := &peer{shown: v, caller: caller}
	var capabilities, client json.RawMessage
	if params.meta != nil {
		for key, value := range jsonscan.Fields(params.meta) {
			switch string(key) {
			case metaRevision:
				p.revision = str(value)
			case metaCapabilities:
				capabilities = value
			case metaClient:
				client = value
			case metaLevel:
				p.level = mcp.LoggingLevel(str(value))
			}
		}
	}
	switch {
	case p.revision == "":
		return p, params, invalidParams("params._meta lacks %s", metaRevision)
	case p.revision != mcp.Revision20260728:
		return p, params, unsupported(p.revision)
	case !isObject(capabilities):
		return p, params, invalidParams("params._meta lacks %s, an object", metaCapabilities)
	case !isRound(&params):
		return p, params, invalidParams("params.inputResponses has to be an object of objects, and params.requestState a string")
	case client != nil && !isObject(client):
		return p, params, invalidParams("%s in params._meta is not an object", metaClient)
	}
	p.can, p.client = abilitiesOf(capabilities), implementationOf(client)
	p.can.tasks = isObject(member(capabilities, "extensions", extensionTasks))
	return p, params, nil
}

// isRound reports whether what continues a request is of the right kind.
func isRound(p *params) bool {
	if p.state != nil && p.state[0] != '"' || p.responses != nil && !isObject(p.responses) {
		return false
	}
	for _, value := range jsonscan.Fields(p.responses) {
		if !isObject(value) {
			return false
		}
	}
	return true
}

// checkFields compares the header fields with the body: a proxy decides by the fields, so they must
// not say something else.
func (x *exchange) checkFields(method string, p *peer, params *params) *mcp.JSONRPCError {
	h := x.r.Header
	switch got := h.Get(headerRevision); {
	case got == "":
		return failure(codeHeader, "the %s field is missing", headerRevision)
	case p.revision == "":
		return nil // which is another mistake
	case got != p.revision:
		return failure(codeHeader, "the %s field is not the revision in _meta", headerRevision)
	}
	switch got := h.Get(headerMethod); {
	case got == "":
		return failure(codeHeader, "the %s field is missing", headerMethod)
	case got != method:
		return failure(codeHeader, "the %s field is not the method of the message", headerMethod)
	}
	var name json.RawMessage
	switch method {
	case "tools/call", "prompts/get":
		name = params.name
	case "resources/read":
		name = params.uri
	case "tasks/get", "tasks/update", "tasks/cancel":
		name = params.taskID
	default:
		return nil
	}
	got, ok := paramheader.Decode(h.Get(headerName))
	switch {
	case h.Get(headerName) == "":
		return failure(codeHeader, "the %s field is missing", headerName)
	case !ok || got != str(name):
		return failure(codeHeader, "the %s field is not the name in the message", headerName)
	case method != "tools/call":
		return nil
	}
	return x.checkArguments(p, got, params.arguments)
}

// checkArguments compares the header fields that a tool's schema wants with the arguments.
func (x *exchange) checkArguments(p *peer, tool string, args json.RawMessage) *mcp.JSONRPCError {
	headers := x.view.catalogue(p.context(x.r.Context()), p).headers[tool]
	wanted := paramheader.Fields(headers, args)
	for _, h := range headers {
		want, given := wanted[h.Field]
		got, ok := paramheader.Decode(x.r.Header.Get(h.Field))
		sent := len(x.r.Header.Values(h.Field)) > 0
		switch {
		case given != sent:
			return failure(codeHeader, "the %s field has to be there if, and only if, the argument %s is", h.Field, strings.Join(h.Path, "."))
		case given && (!ok || got != want):
			return failure(codeHeader, "the %s field is not the argument %s", h.Field, strings.Join(h.Path, "."))
		}
	}
	return nil
}

// listen serves subscriptions/listen by a stream.
func (x *exchange) listen(r *request, reader int) {
	if reader == 0 {
		writeText(x.w, http.StatusNotAcceptable, "accept text/event-stream")
		return
	}
	if !isObject(member(r.params.all, "notifications")) {
		x.fail(http.StatusBadRequest, r.id, invalidParams("params.notifications is missing"))
		return
	}
	spawned := x.gateway.spawn(func() {
		result, failed := r.subscriptions(x.r.Context())
		r.out.answer(response(r.id, result, failed))
		r.out.end()
	})
	if spawned {
		x.stream(r.out, -1)
	}
}
