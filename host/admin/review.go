package admin

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/apps"
	"github.com/mcpbelt/mcpbelt/host/consent"
	"github.com/mcpbelt/mcpbelt/host/internal/events"
	"github.com/mcpbelt/mcpbelt/host/manage"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
)

// callTime bounds how long a call may take.
const callTime = 5 * time.Minute

func reviewRoutes() []*route {
	return []*route{
		on("GET", "/api/v1/changes", View, "List what is new or changed at servers and waits to be accepted, with its differences", (*request).listChanges,
			param{"server", "string", "of this server alone"},
			param{"rejected", "boolean", "what was rejected, which can be accepted after all"}),
		with("POST", "/api/v1/changes/accept", Operate, "Accept a change as it was shown, or what was rejected; of a local server it takes stdio:write", (*request).acceptChange),
		with("POST", "/api/v1/changes/reject", Operate, "Reject a change as it was shown, or what was accepted, which of a local server takes stdio:write", (*request).rejectChange),
		on("GET", "/api/v1/launches", View, "List the servers that wait to be allowed; their exact commands take stdio:write", (*request).listLaunches,
			param{"denied", "boolean", "those that were denied, which can be allowed after all"}),
		on("POST", "/api/v1/launches/{fingerprint}/allow", StdioWrite, "Allow a launch as it was shown, and start its server", (*request).allowLaunch),
		on("POST", "/api/v1/launches/{fingerprint}/deny", StdioWrite, "Deny a launch as it was shown", (*request).denyLaunch),
		on("POST", "/api/v1/launches/{fingerprint}/forget", StdioWrite, "Take back what was decided about a launch, so that it waits again, and stop its server", (*request).forgetLaunch),
		on("GET", "/api/v1/calls", View, "List the calls that wait for approval, on all replicas, with their exact arguments", (*request).listCalls),
		with("POST", "/api/v1/calls/{id}/approve", Operate, "Approve a call and make it; of a tool of a local server it takes stdio:write", (*request).approveCall),
		with("POST", "/api/v1/calls/{id}/deny", Operate, "Deny a call", (*request).denyCall),
	}
}

// A decidedChange names a change by what it was when it was looked at.
type decidedChange struct {
	Server string            `json:"server"`
	Tool   string            `json:"tool,omitempty"` // empty: what is said of the server itself
	Kind   ledger.ChangeKind `json:"kind"`
	Hash   string            `json:"hash"`
}

// A launch is one that waits to be allowed.
type launch struct {
	Fingerprint string `json:"fingerprint"`
	Server      string `json:"server"`
	Source      string `json:"source"`
	Transport   string `json:"transport"`
	Command     string `json:"command,omitempty"` // exact; it may hold secrets
}

// A waitingCall is one that waits for approval.
type waitingCall struct {
	ID           string          `json:"id"`
	Replica      string          `json:"replica,omitempty"` // on which it waits
	User         string          `json:"user,omitempty"`
	Conversation string          `json:"conversation,omitempty"`
	Server       string          `json:"server,omitempty"` // empty: a tool of the program
	Tool         string          `json:"tool"`
	Description  string          `json:"description,omitempty"`
	Arguments    json.RawMessage `json:"arguments"`
	Reason       string          `json:"reason,omitempty"`
	Asked        time.Time       `json:"asked,omitzero"`
	Expires      time.Time       `json:"expires,omitzero"`
}

type approveInput struct {
	ForConversation bool `json:"forConversation,omitempty"` // and later calls of the tool in the conversation
	App             bool `json:"app,omitempty"`             // the caller has tried the tool, and is to be shown its app
}

type denyInput struct {
	Reason string `json:"reason,omitempty"` // for the model
}

// A callResult says what came of a call; its result is for the one who asked for it.
type callResult struct {
	ID        string `json:"id"`
	Made      bool   `json:"made"`
	ToolError bool   `json:"toolError"` // the tool says that it failed

	App *apps.Shown `json:"app,omitempty"` // as of a tool that is tried
}

func (q *request) listChanges() ([]ledger.Change, error) {
	var names []string
	if name := q.URL.Query().Get("server"); name != "" {
		names = append(names, name)
	}
	l := q.host.Registry().Ledger()
	if q.URL.Query().Get("rejected") == "true" {
		return decided(l, true, names...), nil
	}
	changes := append([]ledger.Change{}, l.Pending(names...)...)
	for i := range changes {
		q.describe(&changes[i])
	}
	return changes, nil
}

// acceptParam is the parameter of changes of a record.
var acceptParam = param{"accept", "boolean", "whether the server is accepted as the change makes it, so that tools which are as they were accepted stay offered"}

// remember keeps what a server is before it is changed, if it is as it was accepted.
func (q *request) remember(s *manage.Server) {
	if name := s.Record.Name; q.pendingEntry(name) == nil {
		q.accepted.Store(name, entryOf(s.Record))
	}
}

// pendingEntry returns that a server is another one than was accepted, or nil.
func (q *request) pendingEntry(name string) *ledger.Change {
	for _, c := range q.host.Registry().Ledger().Pending(name) {
		if c.Kind == ledger.ServerChanged {
			return &c
		}
	}
	return nil
}

// acceptEntry accepts a server as the caller has changed it, if they say so.
func (q *request) acceptEntry(name string) error {
	c := q.pendingEntry(name)
	if c == nil || q.URL.Query().Get("accept") != "true" {
		return nil
	}
	if err := q.mayStart(name); err != nil { // another caller may have made it a local one meanwhile
		return err
	}
	return q.decided(c, true, q.host.Registry().Ledger().Accept(q.forUser(), q.by(), *c))
}

// decided records what the caller has decided.
func (q *request) decided(c *ledger.Change, accepted bool, err error) error {
	q.opts.Feed.record(q.forUser(), events.OfDecision(c, accepted, err))
	return err
}

// describe puts what a server was and is in the place of the hashes of both.
func (q *request) describe(c *ledger.Change) {
	if c.Kind != ledger.ServerChanged && c.Kind != ledger.ServerQuarantined {
		return
	}
	s, err := q.anyServer(c.Server)
	if err != nil {
		return
	}
	before, _ := q.accepted.Load(c.Server)
	was, _ := before.(map[string]json.RawMessage)
	now := entryOf(s.Record)
	c.Fields = nil
	for _, key := range []string{"command", "args", "env", "cwd", "url", "headers"} {
		if !bytes.Equal(was[key], now[key]) {
			c.Fields = append(c.Fields, ledger.FieldChange{Field: "/" + key, Before: unquoted(was[key]), After: unquoted(now[key])})
		}
	}
}

// decided returns what was rejected, or accepted, as changes by which that is taken back.
func decided(l *ledger.Ledger, rejected bool, servers ...string) []ledger.Change {
	changes := []ledger.Change{}
	for _, e := range l.Entries(servers...) {
		if e.Rejected == rejected {
			changes = append(changes, ledger.Change{Server: e.Server, Place: e.Place, Tool: e.Tool, Kind: ledger.ToolRejected, Hash: e.Hash, Since: e.At})
		}
	}
	return changes
}

func (q *request) acceptChange(in *decidedChange) (decidedChange, error) {
	return *in, q.decideChange(in, true, q.host.Registry().Ledger().Accept)
}

func (q *request) rejectChange(in *decidedChange) (decidedChange, error) {
	return *in, q.decideChange(in, false, q.host.Registry().Ledger().Reject)
}

// decideChange calls decide with the change that the body names, as far as it waits as it was, or was decided the
// other way.
func (q *request) decideChange(in *decidedChange, accept bool, decide func(context.Context, string, ...ledger.Change) error) error {
	if in.Server == "" {
		return &failure{status: http.StatusBadRequest, code: "value_invalid", detail: "server is missing"}
	}
	l := q.host.Registry().Ledger()
	pending := l.Pending(in.Server)
	for i, c := range append(pending, decided(l, accept, in.Server)...) {
		waits := i < len(pending)
		if c.Tool != in.Tool || c.Hash != in.Hash || waits && c.Kind != in.Kind {
			continue
		}
		if err := q.mayStart(c.Server); err != nil && (accept || !waits) {
			return err
		}
		return q.decided(&c, accept, decide(q.forUser(), q.by(), c))
	}
	return &ledger.StaleChangeError{Server: in.Server, Tool: in.Tool, Hash: in.Hash}
}

func (q *request) listLaunches() ([]launch, error) {
	return q.showLaunches(q.URL.Query().Get("denied") == "true"), nil
}

// showLaunches returns the launches that wait, or those that were denied.
func (q *request) showLaunches(denied bool) []launch {
	shown := []launch{}
	list := q.host.PendingLaunches()
	if denied {
		list = nil
		for _, s := range q.host.Servers() {
			if e := (*host.LaunchNotAllowedError)(nil); errors.As(s.Err, &e) && e.Verdict == consent.Rejected {
				list = append(list, e.Launch)
			}
		}
	}
	for _, l := range list {
		one := launch{Fingerprint: l.Fingerprint(), Server: l.Server, Source: l.Source, Transport: l.Transport}
		if q.need(StdioWrite) == nil {
			one.Command = l.String()
		}
		shown = append(shown, one)
	}
	return shown
}

// launch returns the launch that the path names, as far as it waits or was denied.
func (q *request) launch() launch {
	for _, l := range append(q.showLaunches(false), q.showLaunches(true)...) {
		if l.Fingerprint == q.PathValue("fingerprint") {
			return l
		}
	}
	return launch{Fingerprint: q.PathValue("fingerprint")}
}

func (q *request) allowLaunch() (launch, error) {
	l := q.launch()
	err := q.host.AllowLaunch(q.forUser(), q.by(), l.Fingerprint)
	if err != nil && failureOf(err).status == http.StatusInternalServerError {
		for _, s := range q.host.Servers() { // it is allowed, and could not be started
			if s.Name == l.Server && s.Err != nil {
				return launch{}, &failure{status: http.StatusBadGateway, code: "not_ready", detail: q.hideError(s.Name, s.Err)}
			}
		}
	}
	return l, err
}

func (q *request) denyLaunch() (launch, error) {
	l := q.launch()
	return l, q.host.DenyLaunch(q.forUser(), q.by(), l.Fingerprint)
}

func (q *request) forgetLaunch() (launch, error) {
	l := q.launch()
	return l, q.host.ForgetLaunch(q.forUser(), q.by(), l.Fingerprint)
}

func showCall(r *registry.ApprovalRequest) waitingCall {
	replica, _, named := strings.Cut(r.ID, "-")
	if !named {
		replica = ""
	}
	return waitingCall{
		ID: r.ID, Replica: replica, User: r.User, Conversation: r.Conversation, Server: r.Tool.Origin.Server, Tool: r.Tool.Name,
		Description: r.Tool.Description, Arguments: r.Args, Reason: r.Reason, Asked: r.Asked, Expires: r.Expires,
	}
}

// listCalls returns the calls of all users that wait, here or on any replica: the caller answers for others.
func (q *request) listCalls() ([]waitingCall, error) {
	var list []*registry.ApprovalRequest
	if m := q.opts.Replicas; m != nil {
		var err error
		if list, err = m.Approvals(q.Context()); err != nil {
			return nil, err
		}
	} else {
		list = q.host.Registry().Approvals(q.Context())
	}
	shown := []waitingCall{}
	for _, r := range list {
		shown = append(shown, showCall(r))
	}
	return shown, nil
}

func (q *request) approveCall(in *approveInput) (callResult, error) {
	id := q.PathValue("id")
	list, err := q.listCalls()
	i := slices.IndexFunc(list, func(c waitingCall) bool { return c.ID == id })
	if i < 0 {
		return callResult{}, cmp.Or(err, error(&approval.UnknownError{ID: id}))
	}
	call := list[i]
	if in.ForConversation && call.Conversation == "" {
		return callResult{}, &failure{status: http.StatusBadRequest, code: "value_invalid", detail: "forConversation: the call is in no conversation"}
	}
	if err := q.mayStart(call.Server); err != nil {
		return callResult{}, err
	}
	approve := q.host.Registry().Approve
	if m := q.opts.Replicas; m != nil {
		isHere := call.Replica == m.ID() || slices.ContainsFunc(q.host.Servers(), func(s host.Status) bool { return s.Name == call.Server })
		if !isHere { // it may be local where the call waits
			if err := q.need(StdioWrite); err != nil {
				return callResult{}, err
			}
		}
		approve = m.Approve
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(q.forOthers()), callTime)
	defer cancel()
	app := new(atomic.Pointer[apps.Shown])
	if in.App {
		ctx, app = q.withApp(ctx)
	}
	res, err := approve(ctx, id, &registry.ApproveOptions{ForConversation: in.ForConversation})
	if err != nil {
		if f := failureOf(err); f.status != http.StatusInternalServerError {
			return callResult{}, f
		}
		return callResult{}, &failure{status: http.StatusBadGateway, code: "call_failed", detail: "the call has no result: the activity says why"}
	}
	return callResult{ID: id, Made: true, ToolError: res.IsError, App: app.Load()}, nil
}

func (q *request) denyCall(in *denyInput) (callResult, error) {
	id := q.PathValue("id")
	ctx := events.Note(q.forOthers(), "reason", in.Reason)
	if m := q.opts.Replicas; m != nil {
		return callResult{ID: id}, m.Deny(ctx, id, in.Reason)
	}
	return callResult{ID: id}, q.host.Registry().Deny(ctx, id, in.Reason)
}
