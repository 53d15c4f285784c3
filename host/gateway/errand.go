package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/mcpbelt/mcpbelt/host/gateway/internal/message"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/metatools"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/pages"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
)

const (
	// MetaApproval is the member of a result's _meta that says that the call waits for approval: an
	// object with its id, the time when it expires and, if it is known how the client reaches the
	// gateway, the url of the page on which its user decides.
	MetaApproval = "mcpbelt/approval"
	// MetaLogin is the member of a result's _meta that says that the user has to log in at a server:
	// an object with an id, the time when it expires and the url of the page on which they do.
	MetaLogin = "mcpbelt/login"
)

// newDesk returns what asks people, and serves the pages on which they log in and decide about calls.
func (g *Gateway) newDesk() *pages.Desk {
	o := &g.opts
	u, _ := url.Parse(o.PublicURL) // it was checked
	return pages.New(pages.Options{
		Login: g.host.Login, Complete: g.host.Complete, Opener: o.Opener, Authenticate: o.Authenticate,
		NewID: o.newPlacedID, Registry: g.host.Registry(), InputWait: g.limits.InputWait, URL: *u, Logger: o.Logger,
		Spawn: func(f func(context.Context)) bool { return g.spawn(func() { f(g.ctx) }) },
	})
}

// publicURL returns the URL below which the gateway's paths are, without a slash at its end.
func publicURL(text string) (string, error) {
	u, err := url.Parse(text)
	if text != "" && (err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "") {
		return "", errors.New("gateway: Options.PublicURL is not an http or https URL without user, query and fragment")
	}
	return strings.TrimRight(text, "/"), nil
}

// from notes how the client reaches the gateway.
func (p *peer) from(r *http.Request) *peer {
	p.base = "http://" + r.Host + pages.Prefix(r)
	if r.TLS != nil {
		p.base = "https://" + r.Host + pages.Prefix(r)
	}
	return p
}

// servePage serves a page.
func (g *Gateway) servePage(w http.ResponseWriter, r *http.Request) {
	if err := g.begin(""); err != nil { // it is not known yet whose request it is
		writeText(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	defer g.end("", 0)
	g.desk.ServeHTTP(w, r)
}

// client returns the client of the job, whose user can be asked in its course.
func (j *job) client() *pages.Client {
	p := j.peer
	url := cmp.Or(p.view.gateway.opts.PublicURL, p.base)
	return &pages.Client{
		Caller: p.caller, Endpoint: p.view.path + "/mcp", Session: p.session != nil && p.session.id != "",
		Forms: p.can.form, Pages: p.can.url && url != "", URL: url, Ask: j.elicit,
	}
}

// call makes a call of a tool, in the course of which the user may be asked.
func (r *request) call(ctx context.Context, tool string, args json.RawMessage) (*mcp.CallToolResult, error) {
	input, can := r.input(), r.peer.can
	if can.tasks && (can.form || can.url || can.sampling) {
		input = nil // the call may be a task when its server needs input
	}
	ctx = registry.WithCallOptions(ctx, &mcp.RequestOptions{Meta: r.meta(), Input: input})
	c := pages.Call{Client: jobOf(ctx).client(), Tool: tool, Args: args, Scope: r.peer.view.path, State: message.String(r.params.State)}
	if s := r.peer.session; s != nil {
		c.Scope += " " + s.id
	} else {
		c.Round = r.params.State != nil || r.params.Responses != nil
	}
	return r.gateway.desk.Call(ctx, &c)
}

// await answers a call of await_call: for a call that waits for approval, or by the job that it names. Nil: the client
// has no such tool.
func (r *request) await(ctx context.Context, id string) *job {
	d, p := r.gateway.desk, r.peer
	e := d.Find(p.caller, func(e *pages.Errand) bool { return e.Call != nil && e.Call.ID == id })
	if id == "" || e == nil || !p.sees(e.Call.Tool) { // a grant may have shrunk since
		j := r.gateway.parked(p, id)
		switch {
		case !p.awaits():
			return nil
		case j == nil:
			return refused(message.InvalidParams("no call of yours has this id: its result was fetched, or it ended more than %v ago", resultKept))
		}
		j.attach(r)
		return j
	}
	return r.gateway.start(ctx, r, metatools.AwaitCall, func(ctx context.Context, _ *job) (json.RawMessage, *mcp.JSONRPCError) {
		waiting, stop := context.WithTimeout(ctx, r.gateway.limits.InputWait)
		defer stop()
		res, err, _ := d.Outcome(waiting, e, true)
		if waiting.Err() != nil {
			err = &registry.ApprovalRequiredError{Request: e.Call}
		}
		return r.callResult(e.Call.Tool.Name, res, err)
	})
}

// askLogin is the middleware that has the user of a call log in where the call lacks that, and makes it then.
func (g *Gateway) askLogin(next registry.Handler) registry.Handler {
	return func(ctx context.Context, call *registry.Call) (res *mcp.CallToolResult, err error) {
		j := jobOf(ctx)
		if j == nil || j.peer.view.gateway != g {
			return next(ctx, call)
		}
		err = j.withLogin(ctx, func(ctx context.Context) (err error) {
			res, err = next(ctx, call)
			return err
		})
		return res, err
	}
}

// withLogin calls do, and again when the user of the job's client has logged in where do lacks that.
func (j *job) withLogin(ctx context.Context, do func(context.Context) error) error {
	err := do(ctx)
	if err == nil {
		return nil
	}
	return j.peer.view.gateway.desk.AfterLogin(ctx, j.client(), err, do)
}
