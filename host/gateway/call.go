package gateway

//lint:file-ignore SA1019 Logging and sampling are deprecated since revision 2026-07-28, and work.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpbelt/mcpbelt/host/gateway/internal/message"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/metatools"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/modes"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
)

// MetaOutcome is the member of a result's _meta that says what became of a call that failed
// because of its server's connection: "not_sent", so it can be made again, or "unknown", so
// that making it again may do it twice.
const MetaOutcome = "mcpbelt/outcome"

// callTool answers tools/call.
func (r *request) callTool(ctx context.Context) *job {
	name := message.String(r.params.Name)
	if name == "" {
		return refused(message.InvalidParams("params.name is missing"))
	}
	if name == metatools.AwaitCall {
		id, _ := message.Text(r.params.Arguments, "id")
		if j := r.await(ctx, id); j != nil {
			return j
		}
	}
	if j := r.continued(); j != nil {
		return j
	}
	args := r.params.Arguments // of which nothing is changed on the way
	if args != nil && !message.IsObject(args) && string(args) != "null" {
		return refused(message.InvalidParams("params.arguments is not an object"))
	}
	ctx = jsonscan.WithChecked(ctx, args)
	var call func(context.Context, json.RawMessage) (*mcp.CallToolResult, error)
	for _, own := range r.peer.ownTools(nil) {
		if own.name == name {
			call = own.call
		}
	}
	tool := "" // the registry has no name for a tool of the gateway
	if call == nil {
		variant := ""
		if r.peer.mode == modes.Search && metatools.IsCall(name) {
			inner, err := metatools.ReadCall(args)
			if err != nil {
				return done(r.complete2026(rawOf(metatools.Failed(err))), nil)
			}
			variant, args = name, inner.Arguments
			if name, err = r.peer.belt().Target(ctx, inner); err != nil {
				return done(r.callResult(name, nil, err))
			}
		}
		d, known, err := r.peer.find(ctx, name)
		if err != nil {
			return done(r.callResult(name, nil, err))
		}
		tool = known
		call = func(ctx context.Context, args json.RawMessage) (*mcp.CallToolResult, error) {
			if variant != "" {
				if res, err := r.peer.belt().Refused(ctx, variant, name, known); res != nil || err != nil {
					return res, err
				}
			}
			r.wantLogs(ctx, d)
			return r.call(ctx, known, args)
		}
	}
	j := r.gateway.start(ctx, r, name, func(ctx context.Context, j *job) (json.RawMessage, *mcp.JSONRPCError) {
		if s := r.peer.session; s != nil && s.id != "" {
			ctx = registry.WithConversation(ctx, s.id)
		}
		res, err := call(registry.WithProgress(ctx, j.report), args)
		return r.callResult(name, res, err)
	})
	j.tool = tool
	return j
}

// unknownTool is the error of a call of a tool that the view does not have, with the names of those that
// may be meant and that it has.
func (p *peer) unknownTool(name string, err error) error {
	own := &registry.UnknownToolError{Name: name}
	if unknown, ok := errors.AsType[*registry.UnknownToolError](err); ok {
		snapshot := p.view.gateway.host.Registry().Snapshot()
		for _, name := range unknown.Suggestions {
			if t, ok := snapshot.Lookup(name); ok && p.sees(t.Definition()) {
				own.Suggestions = append(own.Suggestions, p.toolName(t.Definition(), p.room()))
			}
		}
	}
	return own
}

// callResult returns the answer to a call that a registry made.
func (r *request) callResult(name string, res *mcp.CallToolResult, err error) (json.RawMessage, *mcp.JSONRPCError) {
	switch {
	case r.peer.handsai && (err != nil || res.IsError):
		return nil, r.handsaiError(name, res, err)
	case err == nil:
		return r.complete2026(rawOf(res)), nil
	}
	var needs *mcp.InputRequiredError
	var server *mcp.ServerError
	var syntax *jsonscan.SyntaxError
	switch {
	case errors.As(err, &needs):
		return r.inputRequired(needs)
	case errors.As(err, &server):
		return nil, server.Err
	case errors.As(err, new(*registry.UnknownToolError)):
		return nil, message.InvalidParams("%v", r.peer.unknownTool(name, err))
	case errors.As(err, &syntax):
		return nil, message.InvalidParams("params.arguments: %v", syntax)
	}
	result := registry.ErrorResult(err)
	result.Meta = mcp.Meta{}
	if said, about := r.gateway.desk.Help((&job{peer: r.peer}).client(), err); about != nil {
		key := MetaLogin
		if errors.As(err, new(*registry.ApprovalRequiredError)) {
			key = MetaApproval
		}
		result.Content = append(result.Content, &mcp.TextContent{Text: said})
		result.Meta[key] = about
	}
	if made := madeOf(err); made != "" {
		result.Meta[MetaOutcome] = made
	}
	return r.complete2026(rawOf(result)), nil
}

// madeOf says what became of a request that failed, as far as that is not known to the client.
func madeOf(err error) string {
	return map[mcp.Outcome]string{mcp.NotSent: "not_sent", mcp.Unknown: "unknown"}[mcp.OutcomeOf(err)]
}

// rawOf returns a result as its server sent it, if nothing of it was changed here.
func rawOf(res *mcp.CallToolResult) json.RawMessage {
	if raw := res.Raw(); raw != nil {
		return raw
	}
	if res.Content == nil {
		copied := *res
		copied.Content = []mcp.Content{}
		res = &copied
	}
	return message.Marshal(res)
}

// wantLogs has the server of a tool, which may be of an older revision, log what a client of revision 2026-07-28 wants
// to hear.
func (r *request) wantLogs(ctx context.Context, d *registry.Definition) {
	if r.peer.modern() && severity(r.peer.level) > 0 && d.Origin.Server != "" {
		r.gateway.wantLevel(ctx, r.peer.level, func(server string) bool { return server == d.Origin.Server })
	}
}

// logs returns what takes the log messages that a server sends in the course of a job. It does not
// wait. A client with a session that sets no level gets what the server chooses to send, as it would from that.
func (r *request) logs(j *job) func(*mcp.LogMessage) {
	return func(m *mcp.LogMessage) {
		least := r.peer.level
		if s := r.peer.session; s != nil {
			set, ok := s.level.Load().(mcp.LoggingLevel)
			if least = set; !ok {
				least = m.Level
			}
		}
		if least == m.Level || atLeast(m.Level, least) {
			j.send(message.Notification(protocol.NoteMessage, passed(m.Raw), ""))
		}
	}
}

// stillRuns is the answer to a call that took too long.
func (j *job) stillRuns() json.RawMessage {
	if j.peer.can.tasks {
		return j.task(true)
	}
	said := fmt.Sprintf("The call of %s still runs. Call %s with the id %q to get its result. Do not make the call again: it would be done twice.", j.name, metatools.AwaitCall, j.id)
	return rawOf(&mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: said}}, Meta: mcp.Meta{MetaOutcome: "running", "mcpbelt/call": j.id}})
}
