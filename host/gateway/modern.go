package gateway

//lint:file-ignore SA1019 Logging and sampling are deprecated since revision 2026-07-28, and work.

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/message"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/stream"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/paramheader"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// postModern serves a message of a stateless revision: each request says all
// that there is to know.
func (x *exchange) postModern(m *jsonscan.Message) {
	switch {
	case m.IsResponse():
		x.fail(http.StatusBadRequest, nil, message.Failure(message.CodeInvalidRequest, "revision %s has no requests of servers, so there is nothing to respond to", protocol.Newest()))
		return
	case m.ID == nil:
		x.w.WriteHeader(http.StatusAccepted)
		return
	}
	r, failed := x.modernRequest(x.caller, m, x.asked, stream.New(""))
	r.peer.from(x.r)
	if wrong := x.checkFields(r); wrong != nil {
		failed = wrong
	}
	switch listens := m.Method == protocol.Listen; {
	case failed != nil:
		x.fail(http.StatusBadRequest, m.ID, failed)
	case listens && !x.accepts(typeEvents):
		writeText(x.w, http.StatusNotAcceptable, "accept text/event-stream")
	case listens && !message.IsObject(jsonscan.Member(m.Params, "notifications")):
		x.fail(http.StatusBadRequest, r.id, message.InvalidParams("params.notifications is missing"))
	case listens:
		x.respond(r.out, r)
	default:
		x.await(r)
	}
}

// statusOf is the HTTP status of an error in revision 2026-07-28.
func statusOf(err *mcp.JSONRPCError) int {
	switch err.Code {
	case message.CodeNoMethod:
		return http.StatusNotFound
	case message.CodeInvalidParams, message.CodeRevision, message.CodeCapability, message.CodeHeader:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// modernRequest returns a request of a stateless revision, of the client that it describes, which is shown tools in the mode
// asked for. Of one that failed not all is known.
func (v shown) modernRequest(caller *access.Caller, m *jsonscan.Message, asked string, out *stream.Stream) (*request, *mcp.JSONRPCError) {
	params := message.ParamsOf(m.Params)
	p := &peer{shown: v, caller: caller}
	r := p.newRequest(m, params, out)
	var capabilities, client json.RawMessage
	for key, value := range jsonscan.Fields(params.Meta) {
		switch string(key) {
		case protocol.MetaVersion:
			p.revision = message.String(value)
		case protocol.MetaCapabilities:
			capabilities = value
		case protocol.MetaClient:
			client = value
		case protocol.MetaLogLevel:
			p.level = mcp.LoggingLevel(message.String(value))
		}
	}
	switch {
	case p.revision == "":
		return r, message.InvalidParams("params._meta lacks %s", protocol.MetaVersion)
	case !protocol.RevisionOf(p.revision).Stateless:
		return r, unsupported(p.revision)
	case !message.IsObject(capabilities):
		return r, message.InvalidParams("params._meta lacks %s, an object", protocol.MetaCapabilities)
	case !isRound(&params):
		return r, message.InvalidParams("params.inputResponses has to be an object of objects, and params.requestState a string")
	case client != nil && !message.IsObject(client):
		return r, message.InvalidParams("%s in params._meta is not an object", protocol.MetaClient)
	}
	p.can, p.client = abilitiesOf(capabilities), implementationOf(client)
	p.can.tasks = message.IsObject(jsonscan.Member(capabilities, "extensions", protocol.ExtensionTasks))
	p.choose(asked)
	return r, nil
}

// isRound reports whether what continues a request is of the right kind.
func isRound(p *message.Params) bool {
	if p.State != nil && p.State[0] != '"' || p.Responses != nil && !message.IsObject(p.Responses) {
		return false
	}
	for _, value := range jsonscan.Fields(p.Responses) {
		if !message.IsObject(value) {
			return false
		}
	}
	return true
}

// checkFields compares the header fields with the body: a proxy decides by the fields, so they must
// not say something else.
func (x *exchange) checkFields(r *request) *mcp.JSONRPCError {
	type field struct{ name, want, what string }
	p, params := r.peer, &r.params
	fields := []field{{protocol.HeaderVersion, p.revision, "revision in _meta"}, {protocol.HeaderMethod, r.method, "method of the message"}}
	if named := protocol.NamedBy(r.method); named != "" {
		name, _ := message.Text(params.All, named)
		fields = append(fields, field{protocol.HeaderName, name, "name in the message"})
	}
	for _, f := range fields {
		got, ok := paramheader.Decode(x.r.Header.Get(f.name))
		switch {
		case x.r.Header.Get(f.name) == "":
			return message.Failure(message.CodeHeader, "the %s field is missing", f.name)
		case p.revision == "":
			return nil // which is another mistake
		case !ok || got != f.want:
			return message.Failure(message.CodeHeader, "the %s field is not the %s", f.name, f.what)
		}
	}
	if r.method != protocol.CallTool {
		return nil
	}
	return x.checkArguments(p, message.String(params.Name), params.Arguments)
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
			return message.Failure(message.CodeHeader, "the %s field has to be there if, and only if, the argument %s is", h.Field, strings.Join(h.Path, "."))
		case given && (!ok || got != want):
			return message.Failure(message.CodeHeader, "the %s field is not the argument %s", h.Field, strings.Join(h.Path, "."))
		}
	}
	return nil
}
