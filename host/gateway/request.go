package gateway

//lint:file-ignore SA1019 Logging and sampling are deprecated since revision 2026-07-28, and work.

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"

	"github.com/mcpbelt/mcpbelt/host/gateway/internal/message"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/stream"
	"github.com/mcpbelt/mcpbelt/internal/canonjson"
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
	lists   string // the member of the result that is a list; empty: there is none
	params  message.Params
	out     *stream.Stream // for messages about the request
	under   *running       // by which it can be withdrawn; nil: it ends with the client's connection alone
}

// newRequest returns a request of a peer.
func (p *peer) newRequest(m *jsonscan.Message, params message.Params, out *stream.Stream) *request {
	return &request{gateway: p.view.gateway, peer: p, id: m.ID, method: m.Method, params: params, out: out}
}

// enter notes that the request is under way, until wait returns. It fails if it may not be now.
func (r *request) enter() (failed *mcp.JSONRPCError) {
	if r.peer.requests != nil {
		r.under, failed = r.peer.requests.enter(r.id)
	}
	return failed
}

// A handler answers the requests of a method.
type handler struct {
	from   func(*peer) bool        // which clients may make them; nil: all
	needs  func(capabilities) bool // what the view has to offer; nil: nothing
	lists  string                  // the member of the result: clients with sessions ask for lists that are not there, too
	asks   bool                    // it asks servers, or listens to them, and ends when it is withdrawn
	answer func(*request, context.Context) (json.RawMessage, *mcp.JSONRPCError)
	begin  func(*request, context.Context) *job // in the place of answer: what may take long
}

func (p *peer) hasSession() bool { return p.session != nil }

func hasPrompts(c capabilities) bool   { return c.Prompts.Listed }
func hasResources(c capabilities) bool { return c.Resources.Listed }
func subscribes(c capabilities) bool   { return c.Resources.Subscribe }

// handlers are those of all methods.
var handlers = map[string]handler{
	protocol.CallTool:      {begin: (*request).callTool},
	protocol.ListTools:     {answer: (*request).listTools},
	protocol.GetPrompt:     {needs: hasPrompts, begin: (*request).getPrompt},
	protocol.ListPrompts:   {needs: hasPrompts, lists: "prompts", asks: true, answer: (*request).listContent},
	protocol.ReadResource:  {needs: hasResources, begin: (*request).readResource},
	protocol.ListResources: {needs: hasResources, lists: "resources", asks: true, answer: (*request).listContent},
	protocol.ListTemplates: {needs: hasResources, lists: "resourceTemplates", asks: true, answer: (*request).listContent},
	protocol.ListSkills:    {needs: capabilities.hasSkills, lists: "skills", asks: true, answer: (*request).listContent},
	protocol.GetSkill:      {needs: capabilities.hasSkills, asks: true, answer: (*request).getSkill},
	protocol.Complete:      {needs: func(c capabilities) bool { return c.Completions != nil }, asks: true, answer: (*request).complete},
	protocol.Discover:      {answer: (*request).discover},
	protocol.Ping:          {from: (*peer).hasSession, answer: (*request).empty},
	protocol.SetLogLevel:   {from: (*peer).hasSession, needs: func(c capabilities) bool { return c.Logging != nil }, asks: true, answer: (*request).setLevel},
	protocol.Subscribe:     {from: (*peer).hasSession, needs: subscribes, asks: true, answer: (*request).subscribe},
	protocol.Unsubscribe:   {from: (*peer).hasSession, needs: subscribes, answer: (*request).unsubscribe},
	protocol.Listen:        {from: (*peer).modern, asks: true, answer: (*request).subscriptions},
	protocol.GetTask:       {from: (*peer).modern, answer: (*request).serveTask},
	protocol.UpdateTask:    {from: (*peer).modern, answer: (*request).serveTask},
	protocol.CancelTask:    {from: (*peer).modern, answer: (*request).serveTask},
}

// serve answers a request by a job, which is done already if it was nothing that takes long.
func (r *request) serve(ctx context.Context) *job {
	ctx = r.peer.context(ctx)
	h, known := handlers[r.method]
	has := h.needs == nil || h.needs(r.peer.capabilities())
	switch {
	case !known || h.from != nil && !h.from(r.peer) || !has && (h.lists == "" || r.peer.modern()):
		return refused(message.Failure(message.CodeNoMethod, "method not found: %.100s", r.method))
	case !has:
		return done(r.page(h.lists, nil))
	case h.begin != nil:
		return h.begin(r, ctx)
	}
	if h.asks && r.under != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(r.under.ctx, cancel)()
	}
	r.lists = h.lists
	result, failed := h.answer(r, ctx)
	return done(r.complete2026(result), failed)
}

// empty answers a request whose result says nothing.
func (r *request) empty(context.Context) (json.RawMessage, *mcp.JSONRPCError) {
	return json.RawMessage(`{}`), nil
}

// complete2026 says that a result is complete, where revision 2026-07-28 wants that said.
func (r *request) complete2026(result json.RawMessage) json.RawMessage {
	if !r.peer.modern() || result == nil || bytes.Contains(result, []byte(`"resultType"`)) && jsonscan.Member(result, "resultType") != nil {
		return result
	}
	return message.AddMember(result, "resultType", []byte(`"complete"`))
}

// cacheable says how long the result of a list may be kept, in revision 2026-07-28. Lists of users
// may differ, and change at any time, which a client hears of by a subscription.
func (r *request) cacheable(result json.RawMessage) json.RawMessage {
	if result == nil || !r.peer.modern() || jsonscan.Member(result, "ttlMs") != nil {
		return result
	}
	return message.AddMember(message.AddMember(result, "cacheScope", []byte(`"private"`)), "ttlMs", []byte("1000"))
}

// meta returns the members of _meta that are not between the client and the gateway.
func (r *request) meta() mcp.Meta { return passedMeta(r.params.Meta) }

// passed returns parameters with a _meta that passedMeta returns.
func passed(params json.RawMessage) json.RawMessage {
	given := jsonscan.Member(params, "_meta")
	if given == nil {
		return params
	}
	params = canonjson.Without(params, "_meta")
	if meta := passedMeta(given); meta != nil {
		params = message.AddMember(params, "_meta", message.Marshal(meta))
	}
	return params
}

// passedMeta returns the members of a _meta that are not between the gateway and who sent it.
func passedMeta(given json.RawMessage) mcp.Meta {
	var meta mcp.Meta
	for key, value := range jsonscan.Fields(given) {
		switch string(key) {
		case "progressToken", protocol.MetaVersion, protocol.MetaClient, protocol.MetaCapabilities, protocol.MetaSubscription, protocol.MetaTask:
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
	for key, value := range jsonscan.Fields(jsonscan.Member(r.params.Meta, protocol.MetaCapabilities)) {
		switch string(key) {
		case "elicitation", "sampling", "roots":
			caps[string(key)] = value
		}
	}
	if apps := jsonscan.Member(r.params.Meta, protocol.MetaCapabilities, "extensions", protocol.ExtensionApps); apps != nil {
		caps["extensions"] = message.Marshal(map[string]json.RawMessage{protocol.ExtensionApps: apps})
	}
	round.Capabilities = message.Marshal(caps)
	return round
}

// inputRequired is the answer to a request for which a server of revision 2026-07-28 needs input.
func (r *request) inputRequired(needs *mcp.InputRequiredError) (json.RawMessage, *mcp.JSONRPCError) {
	lacks := map[string]any{}
	for _, asked := range jsonscan.Fields(needs.Requests) {
		method, _ := message.Text(asked, "method")
		_, lack := r.peer.can.lacks(method, jsonscan.Member(asked, "params"))
		maps.Copy(lacks, lack)
	}
	if len(lacks) > 0 {
		failed := message.Failure(message.CodeCapability, "the server needs input that the client does not declare to be able to give")
		failed.Data = message.Marshal(map[string]any{"requiredCapabilities": lacks})
		return nil, failed
	}
	return askedFor(needs.Requests, needs.State), nil
}

// askedFor returns the result that asks a client of revision 2026-07-28 for input.
func askedFor(requests, state json.RawMessage) json.RawMessage {
	return message.Marshal(struct {
		Type     string          `json:"resultType"`
		Requests json.RawMessage `json:"inputRequests"`
		State    json.RawMessage `json:"requestState,omitempty"`
	}{"input_required", requests, state})
}

// An offer is what the view offers a client, as server/discover and initialize are answered.
type offer struct {
	Versions     []string       `json:"supportedVersions,omitempty"`
	Version      string         `json:"protocolVersion,omitempty"`
	Capabilities capabilities   `json:"capabilities"`
	Server       any            `json:"serverInfo"`
	Instructions string         `json:"instructions,omitempty"`
	Meta         map[string]any `json:"_meta,omitempty"`
}

// discover answers server/discover.
func (r *request) discover(context.Context) (json.RawMessage, *mcp.JSONRPCError) {
	impl, instructions := r.peer.identity()
	has := r.peer.capabilities()
	has.Extensions[protocol.ExtensionTasks] = struct{}{}
	return r.cacheable(message.Marshal(offer{
		Versions: protocol.Versions(), Capabilities: has, Server: impl, Instructions: instructions,
		Meta: map[string]any{protocol.MetaServer: impl},
	})), nil
}

// initializeResult answers an initialize request.
func (v shown) initializeResult(revision string) json.RawMessage {
	impl, instructions := v.identity()
	return message.Marshal(offer{Version: revision, Capabilities: v.capabilities(), Server: impl, Instructions: instructions})
}

// setLevel answers logging/setLevel.
func (r *request) setLevel(ctx context.Context) (json.RawMessage, *mcp.JSONRPCError) {
	level, _ := message.Text(r.params.All, "level")
	l := mcp.LoggingLevel(level)
	if severity(l) == 0 {
		return nil, message.InvalidParams("no such level: %.50q", level)
	}
	r.peer.session.level.Store(l)
	r.gateway.wantLevel(ctx, l, r.peer.hasServer)
	return r.empty(ctx)
}
