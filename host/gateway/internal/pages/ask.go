package pages

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/internal/feed"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/session"
)

// loginWithin is how long the page of a login is there.
const loginWithin = 15 * time.Minute

// A Client is the client of a request, whose user can be asked in its course.
type Client struct {
	Caller   *access.Caller // who makes the request
	Endpoint string         // the path at which they do
	Session  bool           // it has one, for which calls can be allowed
	Forms    bool           // it can show its user a form
	Pages    bool           // it can have its user visit a page, whose URL is known
	URL      string         // below which it reaches the paths of the gateway; empty: it is not known
	// Ask asks it by elicitation.
	Ask func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error)
}

// errand returns an errand of the caller of a request.
func (c *Client) errand() *Errand {
	return &Errand{Caller: c.Caller, Endpoint: c.Endpoint, Session: c.Session}
}

// linkTo returns the URL of an errand's page; empty: it is not known.
func (c *Client) linkTo(e *Errand) string {
	if c.URL == "" {
		return ""
	}
	return c.URL + e.Path()
}

// loginOf returns the login that a request lacks which was not sent, if the user may do it; else nil. The login of a server
// whose connection all users share is for those who may change servers.
func (d *Desk) loginOf(c *Client, err error) *auth.LoginRequiredError {
	required, ok := errors.AsType[*auth.LoginRequiredError](err)
	if !ok || mcp.OutcomeOf(err) != mcp.NotSent {
		return nil
	}
	by := c.Caller
	if required.User != "" && required.User != by.User ||
		required.User == "" && d.opts.Authenticate != nil && (by.Grant == nil || !by.Grant.Manage) {
		return nil
	}
	return required
}

// A Call is a call of a tool for a client.
type Call struct {
	Client *Client
	Tool   string
	Args   json.RawMessage
	Scope  string // where the same call is the same: the view and the session
	Round  bool   // it is made again with input for its server, which gave State
	State  string

	wanted   string
	approved *registry.ApprovalRequest
}

// Call makes a call, in the course of which the user may be asked. One that waited for approval and was decided
// elsewhere is not made again: its outcome is returned.
func (d *Desk) Call(ctx context.Context, c *Call) (*mcp.CallToolResult, error) {
	if e := d.Find(c.Client.Caller, func(e *Errand) bool { return e.Wanted != "" && e.Wanted == c.wants() }); e != nil {
		if res, err, ok := d.Outcome(ctx, e, false); ok {
			return res, err
		}
	}
	asking := registry.WithAsk(ctx, func(ctx context.Context, req *registry.ApprovalRequest) (approval.Decision, error) {
		return d.decide(ctx, c, req)
	})
	res, err := d.opts.Registry.Forward(asking, c.Tool, c.Args)
	if needs, ok := errors.AsType[*mcp.InputRequiredError](err); c.approved != nil && ok { // the client makes the call again with its input
		state := ""
		_ = json.Unmarshal(needs.State, &state)
		e := c.Client.errand()
		e.Subject, e.Kept = c.round(c.approved, state), time.Now().Add(d.opts.InputWait)
		d.Add(e)
	}
	var waits *registry.ApprovalRequiredError
	if !errors.As(err, &waits) {
		return res, err
	}
	e := c.Client.errand()
	e.Call, e.Wanted = waits.Request, c.wants()
	if res, err, ok := d.Outcome(ctx, d.park(e), false); ok {
		return res, err
	}
	return nil, err
}

// Asking returns a context for calls in the name of a client whose user may be asked about each.
func (d *Desk) Asking(ctx context.Context, c *Client) context.Context {
	return registry.WithAsk(ctx, func(ctx context.Context, req *registry.ApprovalRequest) (approval.Decision, error) {
		return d.approve(ctx, c, req)
	})
}

// wants tells the calls of a caller apart.
func (c *Call) wants() string {
	if c.wanted == "" {
		sum := sha256.Sum256(c.Args)
		c.wanted = strings.Join([]string{c.Tool, c.Scope, hex.EncodeToString(sum[:])}, " ")
	}
	return c.wanted
}

// round names the approval of a call that goes on with a state of its server.
func (c *Call) round(req *registry.ApprovalRequest, state string) string {
	sum := sha256.Sum256(append([]byte(state+"\x00"), req.Args...))
	return strings.Join([]string{"round", c.wants(), req.Tool.Name, hex.EncodeToString(sum[:])}, " ")
}

// decide asks whether a call may be made, unless it was approved in the round before.
func (d *Desk) decide(ctx context.Context, c *Call, req *registry.ApprovalRequest) (decision approval.Decision, err error) {
	if c.Round && d.take(c.Client.Caller, c.round(req, c.State)) {
		decision.Verdict = approval.Allow
	} else {
		decision, err = d.approve(ctx, c.Client, req)
	}
	if decision.Verdict == approval.Allow {
		c.approved = req
	}
	return decision, err
}

// approve asks the user of a client whether a call may be made.
func (d *Desk) approve(ctx context.Context, c *Client, req *registry.ApprovalRequest) (approval.Decision, error) {
	defer approval.Wait(ctx)()
	decision := approval.Decision{Verdict: approval.Ask}
	e := c.errand()
	form := Form(req, e.Session)
	switch {
	case c.Forms && form != nil:
		if res, err := c.Ask(ctx, form); err == nil {
			decision = Decision(res, e.Session)
		}
	case c.Pages:
		waiting, stop := context.WithTimeout(ctx, d.opts.InputWait)
		defer stop()
		e.Call, e.Subject, e.Expires = req, rand.Text(), time.Now().Add(d.opts.InputWait)
		decision = d.Ask(waiting, e, func(e *Errand) <-chan string { return d.show(waiting, c, e, question(req)) })
	}
	return decision, ctx.Err()
}

// show asks a client to show the page of an errand to its user, and returns what it answers.
func (d *Desk) show(ctx context.Context, c *Client, e *Errand, message string) <-chan string {
	answered := make(chan string, 1)
	if !d.opts.Spawn(func(context.Context) {
		action := "cancel"
		if res, err := c.Ask(ctx, &mcp.ElicitParams{Mode: "url", Message: message, URL: c.linkTo(e), ElicitationID: e.ID()}); err == nil {
			action = res.Action
		}
		answered <- action
	}) {
		answered <- "cancel"
	}
	return answered
}

// logIn returns the errand of a login.
func (d *Desk) logIn(c *Client, required *auth.LoginRequiredError) *Errand {
	e := c.errand()
	e.Login = session.Key{User: required.User, Server: required.Server}
	e.Subject, e.Expires = "login "+required.Server+" "+required.User, time.Now().Add(loginWithin)
	return d.Add(e)
}

// AfterLogin has the user of the client log in, if that is what do lacked, and calls it again then. It returns
// the last error of do, of which err is the first.
func (d *Desk) AfterLogin(ctx context.Context, c *Client, err error, do func(context.Context) error) error {
	required := d.loginOf(c, err)
	if required == nil || required.URL == "" || !c.Pages {
		return err
	}
	defer approval.Wait(ctx)()
	waiting, stop := context.WithTimeout(ctx, d.opts.InputWait)
	defer stop()
	e := d.logIn(c, required)
	var answered <-chan string
	if e.asked.CompareAndSwap(false, true) { // else another call of the user does that
		defer e.asked.Store(false)
		answered = d.show(waiting, c, e, "Log in at the server "+plain.Quote(e.Login.Server)+".")
	}
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		select {
		case action := <-answered:
			if answered = nil; action == "accept" {
				continue
			}
			d.Remove(e)
			return err
		case <-e.Gone():
			return do(ctx)
		case <-waiting.Done():
			return err
		case <-required.Done:
		}
		err = do(ctx)
		if required = d.loginOf(c, err); required == nil {
			d.Remove(e)
			return err
		} // else the session has changed, but not by a login
		if feed.Sleep(waiting, pause) != nil {
			return err
		}
	}
}

// Help says what the model of a client is told of a call that waits for approval or a login, and what is in _meta: nil
// if it is neither, or has no page.
func (d *Desk) Help(c *Client, err error) (said string, meta map[string]any) {
	const again = " make the same call again: it returns the outcome, and is not made twice."
	if waits, ok := errors.AsType[*registry.ApprovalRequiredError](err); ok {
		req := waits.Request
		meta = map[string]any{"id": req.ID, "expires": stamp(req.Expires)}
		said = "The user decides"
		if e := d.Find(c.Caller, func(e *Errand) bool { return e.Call != nil && e.Call.ID == req.ID }); e != nil && c.linkTo(e) != "" {
			meta["url"] = c.linkTo(e)
			said += " at " + c.linkTo(e)
		}
		return said + ", until " + stamp(req.Expires) + "; the id of the call is " + req.ID + ". When the user has decided," + again, meta
	}
	required := d.loginOf(c, err)
	if required == nil || c.URL == "" {
		return "", nil
	}
	e := d.logIn(c, required)
	return "The user logs in at " + c.linkTo(e) + ", until " + stamp(e.Expires) + ". When they have, make the same call again.",
		map[string]any{"id": e.ID(), "url": c.linkTo(e), "expires": stamp(e.Expires)}
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
