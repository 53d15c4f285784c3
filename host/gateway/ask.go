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
		return j.Ask(ctx, r.Params)
	}
	c.ElicitURL = func(ctx context.Context, r *mcp.ElicitURLRequest) (*mcp.ElicitResult, error) {
		j := jobOf(ctx)
		if j == nil && elicitURL != nil {
			return elicitURL(ctx, r)
		}
		id := newID() // servers may have one id for the pages of several clients
		res, err := j.Ask(ctx, &mcp.ElicitParams{Mode: "url", Message: r.Message, URL: r.URL, ElicitationID: id})
		if err == nil && res.Action == "accept" && j.peer.session != nil {
			j.peer.session.awaitVisit(r.Completed, id)
		}
		return res, err
	}
	c.ListRoots = func(ctx context.Context) ([]*mcp.Root, error) {
		j := jobOf(ctx)
		if j == nil || !j.peer.can.roots {
			if listRoots == nil {
				return nil, nil
			}
			return listRoots(ctx)
		}
		res, err := askAs[struct {
			Roots []*mcp.Root `json:"roots"`
		}](ctx, j, protocol.ListRoots, struct{}{})
		if err != nil {
			return nil, err
		}
		return res.Roots, nil
	}
	tools := c.SampleTools
	c.SampleTools = true
	c.Sample = func(ctx context.Context, r *mcp.SampleRequest) (*mcp.SampleResult, error) {
		j := jobOf(ctx)
		wantsTools := r.Params != nil && len(r.Params.Tools) > 0
		switch {
		case j == nil && sample != nil && (tools || !wantsTools):
			return sample(ctx, r)
		case j != nil && j.peer.can.sampling && wantsTools && !j.peer.can.samplingTools:
			return nil, cannot("sampling with tools")
		}
		return askAs[mcp.SampleResult](ctx, j, protocol.Sample, r.Params)
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
	return j.Ask(ctx, params)
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

// Ask asks the client of a job by elicitation. Servers of older revisions leave out the mode, which clients do not take as an
// empty text.
func (j *job) Ask(ctx context.Context, params *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	if params != nil && params.Mode == "" {
		form := *params
		form.Mode = "form"
		params = &form
	}
	return askAs[mcp.ElicitResult](ctx, j, protocol.Elicit, params)
}

// askAs asks the client of a job, and decodes its answer. A server is told why it cannot; nil is no job.
func askAs[T any](ctx context.Context, j *job, method string, params any) (*T, error) {
	if j == nil {
		return nil, message.Failure(message.CodeInternal, "it is not known which call this request belongs to, so no user can be asked: the server has to ask in the course of one call, on the stream of its answer")
	}
	asked := message.Marshal(params)
	if what, _ := j.peer.can.lacks(method, asked); what != "" {
		return nil, cannot(what)
	}
	raw, failed := j.ask(ctx, method, asked)
	if failed != nil {
		return nil, failed
	}
	result := new(T)
	if err := json.Unmarshal(raw, result); err != nil {
		return nil, errors.New("the client's answer cannot be read")
	}
	return result, nil
}
