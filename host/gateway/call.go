package gateway

//lint:file-ignore SA1019 Logging and sampling are deprecated since revision 2026-07-28, and work.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpbelt/mcpbelt/host/gateway/internal/message"
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
	if name == awaitName {
		id, _ := message.Text(r.params.Arguments, "id")
		if j := r.awaitCall(ctx, id); j != nil {
			return j
		}
		if r.peer.awaits() {
			return r.await(id)
		}
	}
	if j := r.continued(); j != nil {
		return j
	}
	args := r.params.Arguments // of which nothing is changed on the way
	if args != nil && !message.IsObject(args) && string(args) != "null" {
		return refused(message.InvalidParams("params.arguments is not an object"))
	}
	g := r.gateway
	call, err := r.toolCall(ctx, name, args)
	if err != nil {
		result, failed := r.callResult(call.name, nil, err)
		return done(r.complete2026(result), failed)
	}
	j := g.start(ctx, r, call.name, func(ctx context.Context, j *job) (json.RawMessage, *mcp.JSONRPCError) {
		if s := r.peer.session; s != nil && s.id != "" {
			ctx = registry.WithConversation(ctx, s.id)
		}
		ctx = registry.WithProgress(ctx, j.report)
		res, err := call.make(ctx, j)
		var needs *mcp.InputRequiredError
		if errors.As(err, &needs) {
			return r.inputRequired(needs)
		}
		result, failed := r.callResult(call.name, res, err)
		return r.complete2026(result), failed
	})
	j.tool = call.known
	return j
}

// unknownTool is the answer to a call of a tool that the view does not have, with the names of those that
// may be meant and that it has.
func (r *request) unknownTool(name string, err error) *mcp.JSONRPCError {
	v := r.peer.shown
	own := &registry.UnknownToolError{Name: name}
	var unknown *registry.UnknownToolError
	if errors.As(err, &unknown) {
		snapshot := r.gateway.host.Registry().Snapshot()
		for _, meant := range unknown.Suggestions {
			if t, ok := snapshot.Lookup(meant); ok && r.peer.sees(t.Definition()) {
				own.Suggestions = append(own.Suggestions, v.toolName(t.Definition(), r.peer.room()))
			}
		}
	}
	return message.InvalidParams("%v", own)
}

// callResult returns the answer to a call that a registry made.
func (r *request) callResult(name string, res *mcp.CallToolResult, err error) (json.RawMessage, *mcp.JSONRPCError) {
	if err == nil {
		return rawOf(res), nil
	}
	var server *mcp.ServerError
	var syntax *jsonscan.SyntaxError
	switch {
	case errors.As(err, &server):
		return nil, server.Err
	case errors.As(err, new(*registry.UnknownToolError)):
		return nil, r.unknownTool(name, err)
	case errors.As(err, &syntax):
		return nil, message.InvalidParams("params.arguments: %v", syntax)
	}
	result := registry.ErrorResult(err)
	result.Meta = mcp.Meta{}
	if said, about := r.gateway.desk.Help(&job{peer: r.peer}, err); about != nil {
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
	return rawOf(result), nil
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
// wait.
func (r *request) logs(j *job) func(*mcp.LogMessage) {
	return func(m *mcp.LogMessage) {
		p := r.peer
		if p.modern() && !atLeast(m.Level, p.level) || !p.modern() && !p.session.wants(m.Level) {
			return
		}
		j.send(message.Notification(protocol.NoteMessage, struct {
			Level  mcp.LoggingLevel `json:"level"`
			Logger string           `json:"logger,omitempty"`
			Data   json.RawMessage  `json:"data"`
		}{m.Level, m.Logger, m.Data}, ""))
	}
}

const awaitName = "await_call"

// awaitTool is listed for clients that give up calls after a minute.
const awaitTool = `{"name":"` + awaitName + `",` +
	`"description":"Get the result of a call that was answered with an id. Call it again if the call still runs.",` +
	`"inputSchema":{"type":"object","properties":{"id":{"type":"string"}},"required":["id"],"additionalProperties":false},` +
	`"annotations":{"readOnlyHint":true,"openWorldHint":false}}`

// await answers a call of await_call: by the job that it names.
func (r *request) await(id string) *job {
	j := r.gateway.parked(r.peer, id)
	if j == nil {
		return refused(message.InvalidParams("no call of yours has this id: its result was fetched, or it ended more than %v ago", resultKept))
	}
	j.attach(r)
	return j
}

// stillRuns is the answer to a call that took too long.
func (j *job) stillRuns() json.RawMessage {
	if j.peer.can.tasks {
		return j.task(true)
	}
	return message.Marshal(map[string]any{
		"content": []any{map[string]any{
			"type": "text",
			"text": fmt.Sprintf("The call of %s still runs. Call %s with the id %q to get its result. Do not make the call again: it would be done twice.", j.name, awaitName, j.id),
		}},
		"_meta": map[string]any{MetaOutcome: "running", "mcpbelt/call": j.id},
	})
}
