package metatools

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/message"
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
	// Off are the states of what callers have switched off, by name, which they may switch on again.
	Off *sync.Map
}

// Call answers a call of upstream_servers, whose operation MCPProxy calls action. The error is that of ctx.
func (s *Servers) Call(ctx context.Context, args json.RawMessage) (*mcp.CallToolResult, error) {
	var operation, name string
	var server object
	if err := read(args, `{"operation":"…","name":"…","server":{…}}`, map[string]any{"operation": &operation, "action": &operation, "name": &name, "server": &server}); err != nil {
		return Failed(err), nil
	}
	do, known := operations()[operation]
	switch {
	case operation == "list":
		return s.list(), nil
	case !known:
		return Failed(fmt.Errorf("there is no operation %s: use list, add, update, remove, enable or disable", plain.Quote(plain.Cut(operation, maxName)))), nil
	case name == "":
		return Failed(errors.New(`"name" is missing: say which server`)), nil
	}
	named, off := record.Of(&config.Server{Title: name}), false // as its owner has left it
	if operation != "add" {
		is, err := s.Manager.Server(ctx, name)
		if err != nil {
			return Failed(err), ctx.Err()
		}
		named = is.Record
		by, _ := s.Off.Load(named.Title)
		off = named.Disabled && by != asLeft(is)
	}
	if !s.Sees(named.Name) {
		if operation != "add" { // it is none of theirs, so that there is none
			return Failed(&record.Error{Code: record.CodeNotFound, Name: name}), nil
		}
		return Failed(fmt.Errorf("you may not add a server of the name %s", plain.Quote(plain.Cut(name, maxName)))), nil
	}
	if operation == "enable" && off {
		return Failed(errors.New("its owner has switched it off, and alone can switch it on")), nil
	}
	report, err := do.do(ctx, s.Manager, named.Title, server)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	s.Logger.Info("gateway: a client changes a server", "operation", operation, "server", plain.Cut(name, maxName), "user", s.User, "credential", s.Credential, "error", err)
	if err != nil {
		return Failed(err), nil
	}
	if operation == "disable" && !off {
		if is, err := s.Manager.Server(ctx, named.Title); err == nil && is.Record.Disabled {
			s.Off.Store(named.Title, asLeft(is))
		}
	}
	return text(s.said(do.done, named.Name, report)), nil
}

// asLeft returns what tells a change of a server from the one before: revisions of a file are equal if the text is.
func asLeft(is manage.Server) any {
	return struct {
		revision record.Revision
		updated  int64
	}{is.Revision, is.Updated.UnixNano()}
}

// An operation changes a server.
type operation struct {
	done string // what became of the server
	do   func(ctx context.Context, m *manage.Manager, name string, server object) (host.Report, error)
}

// operations returns the operations but list, by their names.
func operations() map[string]operation {
	enable := func(on bool) func(context.Context, *manage.Manager, string, object) (host.Report, error) {
		return func(ctx context.Context, m *manage.Manager, name string, _ object) (host.Report, error) {
			return m.Update(ctx, name, record.Switch(on))
		}
	}
	return map[string]operation{
		"add": {"added", add}, "update": {"changed", update}, "enable": {"switched on", enable(true)}, "disable": {"switched off", enable(false)},
		"remove": {"removed", func(ctx context.Context, m *manage.Manager, name string, _ object) (host.Report, error) {
			return m.Remove(ctx, name)
		}},
	}
}

// said says what became of a change.
func (s *Servers) said(done, name string, report host.Report) string {
	said := fmt.Sprintf("The server %s was %s.", plain.Quote(name), done)
	if slices.Contains(report.NotAllowed, name) || errors.As(report.Failed[name], new(*host.LaunchNotAllowedError)) {
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

// decode reads what a caller says of a server, and reports whether it changes the launch. It refuses what they may not say,
// such as that it is trusted.
func decode(server object, missing string, into *record.Patch) (launch bool, err error) {
	if server == nil {
		return false, errors.New(`"server" is missing: ` + missing)
	}
	for key := range jsonscan.Fields(server) {
		switch string(key) {
		case "command", "args", "env", "cwd", "url", "headers", "transport":
			launch = true
		case "description":
		default:
			return false, fmt.Errorf(`"server" must not have %s: it may have description, transport, command, args, env, cwd, url and headers`, plain.Quote(plain.Cut(string(key), maxName)))
		}
	}
	return launch, json.Unmarshal(server, into)
}

func add(ctx context.Context, m *manage.Manager, name string, server object) (host.Report, error) {
	var p record.Patch
	if _, err := decode(server, `say what it is, such as {"command":"…","args":["…"]} or {"url":"…"}`, &p); err != nil {
		return host.Report{}, err
	}
	p.Keys, p.Values.Title, p.Values.Proposed = append(p.Keys, "name", "proposed"), name, true
	r, err := p.Apply(nil)
	if err != nil {
		return host.Report{}, err
	}
	return m.Add(ctx, r)
}

func update(ctx context.Context, m *manage.Manager, name string, server object) (host.Report, error) {
	var p record.Patch
	launch, err := decode(server, "say what changes", &p)
	if err != nil {
		return host.Report{}, err
	}
	if launch {
		p.Keys, p.Values.Proposed = append(p.Keys, "proposed"), true
	}
	return m.Update(ctx, name, &p)
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
		if s.Sees(status.Name) {
			is := cmp.Or(states()[status.Stage], state{name: "Error"})
			if is.reason == "" && status.Stage != host.StageReady {
				is.reason = s.reason(status.Name, status.Err)
			}
			rows = append(rows, row{status.Name, is.name, status.Tools, status.Quarantined, is.reason})
		}
	}
	return text(string(message.Marshal(map[string]any{"servers": rows})))
}

// A state is that of a server, as upstream_servers names it, and if it is not ready why.
type state struct{ name, reason string }

// states returns the states by stage. Where one has no reason, that is the server's last error.
func states() map[host.Stage]state {
	return map[host.Stage]state{
		host.StageReady:       {"Ready", ""},
		host.StageStarting:    {"Connecting", ""},
		host.StageLogin:       {"Authenticating", "it wants the user to log in"},
		host.StageDisabled:    {"Disconnected", "it is switched off"},
		host.StageNotAllowed:  {"Disconnected", "a person has to allow its launch first"},
		host.StageCached:      {"Disconnected", "it starts with the first call of one of its tools"},
		host.StageConfigured:  {"Disconnected", "it was not started yet"},
		host.StageQuarantined: {"Error", "it is in quarantine: a person has to accept its tools first"},
	}
}
