package gateway

//lint:file-ignore SA1019 Logging and sampling are deprecated since revision 2026-07-28, and work.

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"github.com/mcpbelt/mcpbelt/host/gateway/internal/message"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/stream"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// A request is a request of a client, however it came.
type request struct {
	gateway *Gateway
	peer    *peer
	id      json.RawMessage // as the client wrote it
	method  string
	params  message.Params
	out     *stream.Stream // for messages about the request
	under   *running       // by which it can be withdrawn; nil: it ends with the client's connection alone
}

// newRequest returns a request of a peer.
func (p *peer) newRequest(m *jsonscan.Message, out *stream.Stream) *request {
	return &request{gateway: p.view.gateway, peer: p, id: m.ID, method: m.Method, params: message.ParamsOf(m.Params), out: out}
}

// serve answers a request. A job is returned in place of an answer for what may take long.
func (r *request) serve(ctx context.Context) (*job, json.RawMessage, *mcp.JSONRPCError) {
	ctx = r.peer.context(ctx)
	if r.method == protocol.CallTool {
		return r.callTool(ctx)
	}
	if r.under != nil && r.method != protocol.ListTools && r.method != protocol.Ping { // for which no server is asked
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(r.under.ctx, cancel)()
	}
	f := r.peer.features()
	switch {
	case r.method == protocol.GetPrompt && f.Prompts:
		return r.getPrompt(ctx)
	case r.method == protocol.ReadResource && f.Resources:
		return r.readResource(ctx)
	}
	result, err := r.result(ctx, f)
	if err != nil {
		return nil, nil, err
	}
	return nil, r.complete2026(result), nil
}

// result answers a request that does not take long.
func (r *request) result(ctx context.Context, f features) (json.RawMessage, *mcp.JSONRPCError) {
	none := json.RawMessage(emptyResult)
	switch modern := r.peer.modern(); r.method {
	case protocol.ListTools:
		result, err := r.peer.listTools(ctx, r.peer, message.String(r.params.Cursor))
		return r.cacheable(result), err
	case protocol.ListResources, protocol.ListTemplates, protocol.ListPrompts:
		if r.method == protocol.ListPrompts && f.Prompts || r.method != protocol.ListPrompts && f.Resources {
			result, err := r.listContent(ctx)
			return r.cacheable(result), err
		}
	case protocol.Complete:
		if f.Completions {
			return r.complete(ctx)
		}
	case protocol.Discover:
		return r.discover(f), nil
	case protocol.GetTask, protocol.UpdateTask, protocol.CancelTask:
		if modern {
			return r.serveTask()
		}
	case protocol.Ping:
		if !modern {
			return none, nil
		}
	case protocol.SetLogLevel:
		if !modern && f.Logging {
			return none, r.setLevel(ctx)
		}
	case protocol.Subscribe:
		if !modern && f.Subscribe {
			return none, r.subscribe(ctx)
		}
	case protocol.Unsubscribe:
		if !modern && f.Subscribe {
			return none, r.unsubscribe()
		}
	}
	return nil, message.Failure(message.CodeNoMethod, "method not found: %.100s", r.method)
}

// emptyResult is that of requests which have none.
const emptyResult = `{}`

// complete2026 says that a result is complete, where revision 2026-07-28 wants that said.
func (r *request) complete2026(result json.RawMessage) json.RawMessage {
	if !r.peer.modern() || result == nil || bytes.Contains(result, []byte(`"resultType"`)) && message.Member(result, "resultType") != nil {
		return result
	}
	return message.AddMember(result, "resultType", []byte(`"complete"`))
}

// cacheable says how long the result of a list may be kept, in revision 2026-07-28. Lists of users
// may differ, and change at any time, which a client hears of by a subscription.
func (r *request) cacheable(result json.RawMessage) json.RawMessage {
	if result == nil || !r.peer.modern() || message.Member(result, "ttlMs") != nil {
		return result
	}
	return message.AddMember(message.AddMember(result, "cacheScope", []byte(`"private"`)), "ttlMs", []byte("1000"))
}

// meta returns the members of _meta that are not between the client and the gateway.
func (r *request) meta() mcp.Meta {
	var meta mcp.Meta
	if r.params.Meta == nil {
		return nil
	}
	for key, value := range jsonscan.Fields(r.params.Meta) {
		switch string(key) {
		case "progressToken", protocol.MetaVersion, protocol.MetaClient, protocol.MetaCapabilities, protocol.MetaSubscription:
			continue
		}
		if meta == nil {
			meta = mcp.Meta{}
		}
		meta[string(key)] = json.RawMessage(value)
	}
	return meta
}

// input returns the round of a client of revision 2026-07-28, which makes the rounds with a server of
// that revision by itself: what the server wants, and what it is told, pass as they are. A
// server of an older one asks in the course of a job.
func (r *request) input() *mcp.InputRound {
	if !r.peer.modern() {
		return nil
	}
	round := &mcp.InputRound{Responses: r.params.Responses, State: r.params.State}
	caps := map[string]json.RawMessage{}
	for key, value := range jsonscan.Fields(message.Member(r.params.Meta, protocol.MetaCapabilities)) {
		switch string(key) {
		case "elicitation", "sampling", "roots":
			caps[string(key)] = value
		}
	}
	round.Capabilities = message.Marshal(caps)
	return round
}

// inputRequired is the answer to a request for which a server of revision 2026-07-28 needs input.
func (r *request) inputRequired(needs *mcp.InputRequiredError) (json.RawMessage, *mcp.JSONRPCError) {
	if lacks := r.peer.can.lacks(needs.Requests); lacks != nil {
		failed := message.Failure(message.CodeCapability, "the server needs input that the client does not declare to be able to give")
		failed.Data = message.Marshal(map[string]any{"requiredCapabilities": lacks})
		return nil, failed
	}
	return message.Marshal(struct {
		Type     string          `json:"resultType"`
		Requests json.RawMessage `json:"inputRequests"`
		State    json.RawMessage `json:"requestState,omitempty"`
	}{"input_required", needs.Requests, needs.State}), nil
}

// capabilities is what the view offers a client of the given revision.
func capabilities(f features, revision string) map[string]any {
	changes := map[string]any{"listChanged": true}
	caps := map[string]any{"tools": changes}
	if f.Prompts {
		caps["prompts"] = changes
	}
	if f.Resources {
		resources := map[string]any{"listChanged": true}
		if f.Subscribe {
			resources["subscribe"] = true
		}
		caps["resources"] = resources
	}
	if f.Completions {
		caps["completions"] = struct{}{}
	}
	if f.Logging {
		caps["logging"] = struct{}{}
	}
	if revision == protocol.Revision20260728 {
		caps["extensions"] = map[string]any{protocol.ExtensionTasks: struct{}{}}
	}
	return caps
}

// discover answers server/discover.
func (r *request) discover(f features) json.RawMessage {
	impl, instructions := r.peer.identity()
	return r.cacheable(message.Marshal(struct {
		Versions     []string       `json:"supportedVersions"`
		Capabilities map[string]any `json:"capabilities"`
		Server       any            `json:"serverInfo"`
		Instructions string         `json:"instructions,omitempty"`
		Meta         map[string]any `json:"_meta"`
	}{
		allRevisions(), capabilities(f, protocol.Revision20260728), impl, instructions,
		map[string]any{protocol.MetaServer: impl},
	}))
}

// initializeResult answers an initialize request.
func (v shown) initializeResult(revision string) json.RawMessage {
	impl, instructions := v.identity()
	return message.Marshal(struct {
		Version      string         `json:"protocolVersion"`
		Capabilities map[string]any `json:"capabilities"`
		Server       any            `json:"serverInfo"`
		Instructions string         `json:"instructions,omitempty"`
	}{revision, capabilities(v.features(), revision), impl, instructions})
}

// agreedRevision is the revision that a session gets which asked for another.
func agreedRevision(asked string) string {
	if slices.Contains(sessionRevisions(), asked) {
		return asked
	}
	return newestSession
}

// setLevel answers logging/setLevel.
func (r *request) setLevel(ctx context.Context) *mcp.JSONRPCError {
	level, _ := message.Text(r.params.All, "level")
	l := mcp.LoggingLevel(level)
	if severity(l) == 0 {
		return message.InvalidParams("no such level: %.50q", level)
	}
	r.peer.session.setLevel(l)
	r.gateway.wantLevel(ctx, l, r.peer.hasServer)
	return nil
}
