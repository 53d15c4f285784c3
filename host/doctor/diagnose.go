package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/gate"
)

// diagnosedFindings is of how many tools a diagnosis tells what the gate sees in them,
// which is found out anew with regard to all other servers.
const diagnosedFindings = 500

// diagnosePing bounds how long a server may take to answer a ping.
const diagnosePing = 10 * time.Second

// A Diagnosis is what is known of a server that is configured, as it is now. Its texts
// have no control characters and none of the entry's secrets, but they are a server's
// words: show them as such.
type Diagnosis struct {
	// Health is how the server does.
	Health Health `json:"health"`
	// Doing says in a sentence what it is doing.
	Doing string `json:"doing"`
	// Protocol is the revision that is spoken with it, if there is a connection.
	Protocol string `json:"protocol,omitempty"`
	// Program and Version are what the server says that it is.
	Program string `json:"program,omitempty"`
	Version string `json:"version,omitempty"` // see Program
	// PingSeconds is how long a server that is connected took to answer a ping; zero if it did not, or
	// was not asked.
	PingSeconds float64 `json:"pingSeconds,omitempty"`
	// PingError is why it did not answer; empty if it did, or was not asked.
	PingError string `json:"pingError,omitempty"`
	// Tools are its tools in the registry: those that are listed by name, then those in
	// quarantine, then those that are not let in.
	Tools []Tool `json:"tools"`
	// LoginURL is where the user can log in, if the server waits for that.
	LoginURL string `json:"loginUrl,omitempty"`
	// Hints say what is probably the matter and how to cure it, the likeliest first:
	// of what is wrong now or, if nothing is, of the last failure; and of what looks like a
	// mistake in its config entry.
	Hints []Hint `json:"hints,omitempty"`
	// Err is what is wrong now, for errors.Is and errors.As; nil if nothing is.
	Err error `json:"-"`
	// lastErr is the last failure of a call or a connection; nil if there was none.
	lastErr error
}

// Diagnose tells what a server of the configuration is doing, what is wrong with it and
// how to cure that, without disturbing it: nothing is started, connected or ended for
// it, and of a server that rests its last state is told. One that is connected gets a
// ping, for which ctx is waited, and 10 s at most. If users have connections of their
// own it is that of the user of ctx, see [session.WithUser].
//
// To try what would happen if the server were started, use [Test]. The error is a
// [*host.UnknownServerError], or [host.ErrClosed].
func Diagnose(ctx context.Context, h *host.Host, name string) (*Diagnosis, error) {
	status, i, err := find(h, name)
	if err != nil {
		return nil, err
	}
	clean := newCleaner(i.Entry)
	d := &Diagnosis{
		Health:  healthOf(status, i),
		Doing:   doing(&status, len(i.Users)),
		Tools:   listedTools(h, &status, clean),
		Err:     status.Err,
		lastErr: i.LastFailure.Err,
	}
	client := i.Client
	if perUser(i.Entry) {
		client = i.Users[userOf(ctx, i.Entry)]
	}
	if client != nil {
		state := client.State()
		d.Protocol, d.LoginURL = state.ProtocolVersion, state.LoginURL
		if state.Server != nil {
			d.Program, d.Version = clean.line(state.Server.Name), clean.line(state.Server.Version)
		}
		if state.Phase == mcp.Ready {
			d.ping(ctx, client, clean)
		}
		if perUser(i.Entry) { // what is wrong with it is not in the status of the server
			d.Err = errors.Join(d.Err, state.Err)
		}
	}
	failing := i.LastFailure.Entry
	if u := status.Unapplied; u != nil && d.Err == nil {
		d.Doing += " Its changed entry does not work, so it runs as it was before."
		d.Err = u.Err
		d.Hints = hintsOf(u.Entry, u.Err)
	} else if d.Err == nil && failing != nil && failing.Hash() != i.Entry.Hash() {
		d.Hints = hintsOf(failing, d.lastErr) // of an entry that was tried in vain
	} else {
		d.Hints = d.hints(i, clean)
	}
	return d, nil
}

func (d *Diagnosis) ping(ctx context.Context, c *mcp.Client, clean *cleaner) {
	ctx, stop := context.WithTimeout(ctx, diagnosePing)
	defer stop()
	begun := time.Now()
	err := c.Ping(ctx)
	if mcp.OutcomeOf(err) == mcp.Answered { // a refusal is a sign of life
		d.PingSeconds = time.Since(begun).Seconds()
		return
	}
	d.PingError = clean.text(err.Error())
	d.Err = errors.Join(d.Err, fmt.Errorf("no answer to a ping: %w", err))
}

// hintsOf says what may be wrong with an entry that the server does not run as.
func hintsOf(entry *config.Server, err error) []Hint {
	t := newTrouble(entry, err, newCleaner(entry))
	t.reached = unconnected(entry)
	return t.diagnose()
}

// unconnected is how far a server came that has no connection.
func unconnected(entry *config.Server) string {
	if entry.Transport == config.TransportStdio {
		return testSpawned // or the error says that it was not
	}
	return testResolved
}

// hints says what may be wrong with the server.
func (d *Diagnosis) hints(i *host.Inspection, clean *cleaner) []Hint {
	err, stage := d.Err, d.Health.Status.Stage
	if err == nil && i.Entry.Err == nil && !d.Health.Since.After(d.Health.LastErrorAt) { // else it was connected since
		err = d.lastErr
	}
	t := newTrouble(i.Entry, err, clean)
	t.warnings = d.Health.Status.Warnings
	if d.Err == nil {
		t.ofTools(d.Tools)
	}
	switch stage {
	case host.StageReady, host.StageCached, host.StageQuarantined:
		t.reached = testListed
	case host.StageStarting, host.StageWaiting:
		if t.reached = unconnected(i.Entry); d.Protocol != "" {
			t.reached = testInitialized
		}
	case host.StageDisabled, host.StageConfigured:
		t.list = nil // it has no tools, and is not meant to
	}
	if stage == host.StageConfigured && perUser(i.Entry) && (d.Err == nil || wantsLogin(d.Err)) {
		t.ofUsers(i.AwaitsLogin)
	}
	return t.diagnose()
}

// listedTools returns what has become of the tools of a server in the registry.
func listedTools(h *host.Host, status *host.Status, clean *cleaner) []Tool {
	tools := []Tool{}
	snapshot := h.Registry().Snapshot()
	for _, tool := range snapshot.Tools() {
		if def := tool.Definition(); def.Origin.Server == status.Name {
			tool := Tool{Name: def.Origin.Tool, RegisteredName: def.Name, State: toolListed}
			if len(tools) < diagnosedFindings {
				tool.Findings = snapshot.Findings(def.Name)
			}
			tools = append(tools, tool)
		}
	}
	for _, q := range snapshot.Quarantined() {
		if q.Tool.Origin.Server == status.Name {
			tools = append(tools, quarantinedTool(q))
		}
	}
	for _, rejected := range status.Rejected {
		tools = append(tools, rejectedTool(rejected))
	}
	return cleanTools(tools, clean)
}

func quarantinedTool(q registry.Quarantined) Tool {
	err := &registry.QuarantinedError{Name: q.Tool.Name, Change: q.Change}
	return Tool{Name: q.Tool.Origin.Tool, RegisteredName: q.Tool.Name, State: toolQuarantined, Reason: err.Error()}
}

func rejectedTool(r registry.Rejection) Tool {
	t := Tool{Name: r.Name, RegisteredName: r.Name, State: toolRejected, Reason: r.Err.Error()}
	if gate, ok := errors.AsType[*gate.Error](r.Err); ok {
		t.Name, t.Findings = gate.Tool, gate.Findings
	}
	return t
}

func cleanTools(tools []Tool, clean *cleaner) []Tool {
	for i := range tools {
		t := &tools[i]
		t.Name, t.RegisteredName, t.Reason = clean.line(t.Name), clean.line(t.RegisteredName), clean.text(t.Reason)
		t.Findings = slices.Clone(t.Findings) // those of the registry stay as they are
		for j := range t.Findings {
			f := &t.Findings[j]
			f.Field, f.Evidence, f.Detail = clean.line(f.Field), clean.line(f.Evidence), clean.line(f.Detail)
		}
	}
	return tools
}

// doing says what a server is doing, of which n users have connections of their own.
func doing(s *host.Status, n int) string {
	if s.Stage == host.StageWaiting && s.State.Phase != mcp.Ready {
		return fmt.Sprintf("There is no connection. After %d failures in a row the next attempt is at %s, or when a call needs it.", s.State.Failures, s.State.RetryAt.Format(time.RFC3339))
	}
	text := map[host.Stage]string{
		host.StageDisabled:    "It is switched off.",
		host.StageInvalid:     "Its entry cannot be used, so it is not started.",
		host.StageNotAllowed:  "It is not started before its launch is allowed.",
		host.StageQuarantined: "It is in quarantine: none of its tools is called before they are accepted.",
		host.StageConfigured:  "It does not run, and its tools are not known yet.",
		host.StageCached:      "It does not run now. Its tools are known, and a call of one starts it.",
		host.StageStarting:    "It is being started or connected, or its tools are being listed.",
		host.StageReady:       "It is connected, and its tools are listed.",
		host.StageWaiting:     "It is connected, but its tools could not be listed. That is tried again by itself.",
		host.StageLogin:       "It waits for the user to log in.",
	}[s.Stage]
	if s.Stage == host.StageReady && s.Tools == 0 && s.Quarantined > 0 {
		text = "It is connected, and none of its tools is offered before they are accepted."
	}
	if n > 0 {
		text += fmt.Sprintf(" %d users have connections of their own.", n)
	}
	return text
}
