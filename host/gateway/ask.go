package gateway

//lint:file-ignore SA1019 Logging and sampling are deprecated since revision 2026-07-28, and work.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/message"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// Prepare lets the servers of a host that is made with o use what the clients of a gateway can do:
// elicitation, sampling, roots and log messages. A server request goes to the client whose call
// caused it. One whose cause is not known, or is no call of a gateway, goes to the handlers that o
// had, or else is refused, since another user must not see it. Servers that ask for roots then, or
// in the course of a call whose client has none, get those of o.
//
// It also lifts limits that are for a program with one user, unless they are set: MaxQuestions,
// since a session of the gateway has a limit of its own; IdleTimeout, since a client has
// one, which progress resets; and MaxInFlight, which becomes 256, since calls that wait for input
// count.
//
// Call it before the host is made.
func Prepare(o *host.Options) {
	if o == nil {
		return
	}
	c := &o.Client
	c.MaxQuestions = cmp.Or(c.MaxQuestions, -1) // a session has a limit of its own
	c.IdleTimeout = cmp.Or(c.IdleTimeout, -1)   // a client of the gateway has its own
	c.MaxInFlight = cmp.Or(c.MaxInFlight, 256)  // those that wait for people count
	elicit, elicitURL, sample, listRoots := c.Elicit, c.ElicitURL, c.Sample, c.ListRoots
	c.Elicit = func(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		j := jobOf(ctx)
		if j == nil && elicit != nil {
			return elicit(ctx, r)
		}
		_, err := j.pass(ctx, protocol.Elicit, &r.RawRequest)
		return nil, err
	}
	c.ElicitURL = func(ctx context.Context, r *mcp.ElicitURLRequest) (*mcp.ElicitResult, error) {
		j := jobOf(ctx)
		if j == nil && elicitURL != nil {
			return elicitURL(ctx, r)
		}
		id := newID() // servers may have one id for the pages of several clients
		r.Raw = message.WithMember(message.WithMember(r.Raw, "elicitationId", message.Quoted(id)), "mode", []byte(`"url"`))
		raw, err := j.pass(ctx, protocol.Elicit, &r.RawRequest)
		if action, _ := message.Text(raw, "action"); action == "accept" && j.peer.session != nil {
			j.peer.session.awaitVisit(r.Completed, id)
		}
		return nil, err
	}
	c.ListRoots = func(ctx context.Context) ([]*mcp.Root, error) {
		j := jobOf(ctx)
		if j == nil || !j.peer.can.roots {
			if listRoots == nil {
				return nil, nil
			}
			return listRoots(ctx)
		}
		var res struct {
			Roots []*mcp.Root `json:"roots"`
		}
		err := j.askAs(ctx, protocol.ListRoots, json.RawMessage(`{}`), &res)
		return res.Roots, err
	}
	tools := c.SampleTools
	c.SampleTools = true
	c.Sample = func(ctx context.Context, r *mcp.SampleRequest) (*mcp.SampleResult, error) {
		j := jobOf(ctx)
		if j == nil && sample != nil && (tools || len(r.Params.Tools) == 0) {
			return sample(ctx, r)
		}
		_, err := j.pass(ctx, protocol.Sample, &r.RawRequest)
		return nil, err
	}
}

// Elicit asks the user of the client whose call ctx belongs to: for tools of the program itself, and what else
// runs in the course of a call. It fails if ctx is that of no call of a gateway, or the client has no forms, or no
// one answers within 10 minutes.
func Elicit(ctx context.Context, params *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	j := jobOf(ctx)
	switch {
	case params == nil:
		return nil, errors.New("gateway: Elicit: there is nothing to ask")
	case j == nil:
		return nil, errors.New("gateway: Elicit: the context is not that of a call of a gateway")
	case params.Mode != "" && params.Mode != "form":
		return nil, cannot("elicitation")
	}
	return j.elicit(ctx, params)
}

// NeverAsks reports whether the client whose call ctx belongs to is known to let its model call tools
// without asking its user, so that an approver may want to. It is false for most clients, and for a ctx that is that of no
// call of a gateway.
func NeverAsks(ctx context.Context) bool {
	j := jobOf(ctx)
	return j != nil && j.peer.quirks.NeverAsks
}

// cannot is what a server is told of a client that lacks a capability.
func cannot(what string) error {
	return message.Failure(message.CodeInternal, "the client that made the call does not support %s", what)
}

// elicit asks the client of a job by elicitation.
func (j *job) elicit(ctx context.Context, params *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	form := *params
	form.Mode = cmp.Or(form.Mode, "form") // which clients do not take as an empty text
	res := &mcp.ElicitResult{}
	return res, j.askAs(ctx, protocol.Elicit, message.Marshal(form), res)
}

// askAs asks the client of a job, and decodes its answer.
func (j *job) askAs(ctx context.Context, method string, params json.RawMessage, result any) error {
	r := &mcp.RawRequest{Raw: params}
	raw, err := j.pass(ctx, method, r)
	if err == nil && json.Unmarshal(raw, result) != nil {
		err = errNoAnswer
	}
	return err
}

var errNoAnswer = errors.New("the client's answer cannot be read")

// pass passes a server request to the client of a job as it came, but for what of its _meta is between the server and the gateway,
// and answers it with what the client says. A server is told why it cannot; nil is no job.
func (j *job) pass(ctx context.Context, method string, r *mcp.RawRequest) (json.RawMessage, error) {
	if j == nil {
		return nil, message.Failure(message.CodeInternal, "it is not known which call this request belongs to, so no user can be asked: the server has to ask in the course of one call, on the stream of its answer")
	}
	if what, _ := j.peer.can.lacks(method, r.Raw); what != "" {
		return nil, cannot(what)
	}
	raw, failed := j.ask(ctx, method, passed(r.Raw))
	switch {
	case failed != nil:
		return nil, failed
	case !message.IsObject(raw):
		return nil, errNoAnswer
	}
	r.Answer(raw)
	return raw, nil
}
