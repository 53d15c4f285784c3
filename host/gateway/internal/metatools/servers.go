package metatools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/manage"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// Servers is the tool upstream_servers for one caller, who may change servers. What the caller adds, and
// each change of what is started or connected to, is a launch that a person has to allow, see
// [host.Host.PendingLaunches], in this run and in later ones.
type Servers struct {
	// Manager changes the servers.
	Manager *manage.Manager
	// Sees reports whether the caller sees a server. What they do not see they cannot change either.
	Sees func(server string) bool
	// Logger is told who changed what.
	Logger *slog.Logger
	// User and Credential say who the caller is.
	User, Credential string
}

// Call answers a call of upstream_servers. The error is that of ctx.
func (s *Servers) Call(ctx context.Context, args json.RawMessage) (*mcp.CallToolResult, error) {
	var operation, name string
	var server json.RawMessage
	if err := each(args, func(key string, value []byte) (ok bool) {
		switch key {
		case "operation":
			operation, ok = jsonscan.String(value)
		case "name":
			name, ok = optional(value)
		case "server":
			ok = value[0] == '{' || string(value) == "null"
			server = value
		}
		return ok
	}, `{"operation":"…","name":"…","server":{…}}`); err != nil {
		return Failed(err), nil
	}
	operations := map[string]func(ctx context.Context, name string, server json.RawMessage) (host.Report, error){
		"add": s.add, "update": s.update, "remove": s.remove, "enable": s.enable(true), "disable": s.enable(false),
	}
	do := operations[operation]
	switch {
	case operation == "list":
		return s.list(), nil
	case do == nil:
		return Failed(fmt.Errorf("there is no operation %s: use list, add, update, remove, enable or disable", plain.Quote(plain.Cut(operation, maxName)))), nil
	case name == "":
		return Failed(errors.New(`"name" is missing: say which server`)), nil
	}
	named := &record.Record{Name: name}
	if operation != "add" {
		is, err := s.Manager.Server(ctx, name)
		if err != nil {
			return Failed(err), ctx.Err()
		}
		named = is.Record
	}
	if !s.Sees(named.ServerName()) {
		if operation != "add" { // it is none of theirs, so that there is none
			return Failed(&record.Error{Code: record.CodeNotFound, Name: name}), nil
		}
		return Failed(fmt.Errorf("you may not add a server of the name %s", plain.Quote(plain.Cut(name, maxName)))), nil
	}
	report, err := do(ctx, named.Name, server)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	s.Logger.Info("gateway: a client changes a server", "operation", operation, "server", plain.Cut(name, maxName), "user", s.User, "credential", s.Credential, "error", err)
	if err != nil {
		return Failed(err), nil
	}
	return text(s.said(operation, named.ServerName(), report)), nil
}

// said says what became of a change.
func (s *Servers) said(operation, name string, report host.Report) string {
	done := map[string]string{"add": "added", "update": "changed", "remove": "removed", "enable": "switched on", "disable": "switched off"}[operation]
	said := fmt.Sprintf("The server %s was %s.", plain.Quote(name), done)
	var waits *host.LaunchNotAllowedError
	if slices.Contains(report.NotAllowed, name) || errors.As(report.Failed[name], &waits) {
		return said + " It is not started: a person has to allow its launch first, with the program that runs this gateway." + s.fingerprint(name)
	}
	if report.Failed[name] != nil {
		said += " It does not work yet: " + s.reason(name, report.Failed[name]) + "."
	}
	return said
}

// fingerprint says which launch waits.
func (s *Servers) fingerprint(name string) string {
	for _, l := range s.Manager.Host().PendingLaunches() {
		if l.Server == name {
			return " The fingerprint of the launch is " + l.Fingerprint() + "."
		}
	}
	return ""
}

// reason returns the text of an error of a server, without its secrets.
func (s *Servers) reason(name string, err error) string {
	is, inspectErr := s.Manager.Host().Inspect(name)
	if inspectErr != nil || err == nil {
		return ""
	}
	return plain.Line(plain.Cut(is.Entry.MaskError(err), 2*maxName))
}

// checkMembers refuses what a caller may not say of a server, such as that it is trusted.
func checkMembers(server json.RawMessage) (launch bool, err error) {
	for key := range jsonscan.Fields(server) {
		switch string(key) {
		case "command", "args", "env", "cwd", "url", "headers", "transport":
			launch = true
		case "description":
		default:
			return false, fmt.Errorf(`"server" must not have %s: it may have description, transport, command, args, env, cwd, url and headers`, plain.Quote(plain.Cut(string(key), maxName)))
		}
	}
	return launch, nil
}

func (s *Servers) add(ctx context.Context, name string, server json.RawMessage) (host.Report, error) {
	if len(server) == 0 || string(server) == "null" {
		return host.Report{}, errors.New(`"server" is missing: say what it is, such as {"command":"…","args":["…"]} or {"url":"…"}`)
	}
	if _, err := checkMembers(server); err != nil {
		return host.Report{}, err
	}
	var r record.Record
	if err := json.Unmarshal(server, &r); err != nil {
		return host.Report{}, err
	}
	r.Name, r.Proposed = name, true
	return s.Manager.Add(ctx, &r)
}

func (s *Servers) update(ctx context.Context, name string, server json.RawMessage) (host.Report, error) {
	if len(server) == 0 || string(server) == "null" {
		return host.Report{}, errors.New(`"server" is missing: say what changes`)
	}
	launch, err := checkMembers(server)
	if err != nil {
		return host.Report{}, err
	}
	var p record.Patch
	if err := json.Unmarshal(server, &p); err != nil {
		return host.Report{}, err
	}
	if launch {
		p.Proposed = record.Some(true)
	}
	return s.Manager.Update(ctx, name, &p)
}

func (s *Servers) remove(ctx context.Context, name string, _ json.RawMessage) (host.Report, error) {
	return s.Manager.Remove(ctx, name)
}

func (s *Servers) enable(on bool) func(context.Context, string, json.RawMessage) (host.Report, error) {
	return func(ctx context.Context, name string, _ json.RawMessage) (host.Report, error) {
		return s.Manager.Update(ctx, name, &record.Patch{Disabled: record.Some(!on)})
	}
}

// list says where each server stands that the caller sees.
func (s *Servers) list() *mcp.CallToolResult {
	type row struct {
		Name        string `json:"name"`
		State       string `json:"state"`
		Tools       int    `json:"tools"`
		Quarantined int    `json:"quarantined,omitempty"`
		Reason      string `json:"reason,omitempty"`
	}
	rows := []row{}
	for _, status := range s.Manager.Host().Servers() {
		if !s.Sees(status.Name) {
			continue
		}
		state, reason := s.state(&status)
		rows = append(rows, row{status.Name, state, status.Tools, status.Quarantined, reason})
	}
	out, err := json.Marshal(map[string]any{"servers": rows})
	if err != nil {
		return Failed(err)
	}
	return text(string(out))
}

// The states of a server, as upstream_servers names them.
const (
	disconnected   = "Disconnected"
	connecting     = "Connecting"
	authenticating = "Authenticating"
	ready          = "Ready"
	broken         = "Error"
)

// state returns the state of a server, and if it is not ready why.
func (s *Servers) state(status *host.Status) (state, reason string) {
	why := s.reason(status.Name, status.Err)
	switch status.Stage {
	case host.StageReady:
		return ready, ""
	case host.StageStarting:
		return connecting, why
	case host.StageLogin:
		return authenticating, "it wants the user to log in"
	case host.StageDisabled:
		return disconnected, "it is switched off"
	case host.StageNotAllowed:
		return disconnected, "a person has to allow its launch first"
	case host.StageCached:
		return disconnected, "it starts with the first call of one of its tools"
	case host.StageConfigured:
		return disconnected, "it was not started yet"
	case host.StageQuarantined:
		return broken, "it is in quarantine: a person has to accept its tools first"
	}
	return broken, why
}
