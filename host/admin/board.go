package admin

import (
	"cmp"
	"slices"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/doctor"
	"github.com/mcpbelt/mcpbelt/host/manage"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry/toolset"
)

// maxLatencies is how many of the last calls of a server are told of.
const maxLatencies = 30

func boardRoutes() []*route {
	return []*route{
		on("GET", "/api/v1/servers", View, "Say how all servers stand, with their tools, tokens and calls", (*request).listOverviews),
		on("GET", "/api/v1/connect", View, "Write the entries that connect programs to the gateway, for their config files", (*request).listConnections,
			param{"url", "string", "the address of the gateway"}),
		on("POST", "/api/v1/servers/{server}/restart", Operate, "Connect to a server again; a local one takes stdio:write", (*request).restartServer),
	}
}

// An overview says in short how a server stands.
type overview struct {
	Name      string       `json:"name"`
	ID        string       `json:"id,omitempty"` // of its record, if it has one
	About     string       `json:"description,omitempty"`
	Builtin   bool         `json:"builtin"` // it has no record that can be changed
	Local     bool         `json:"local"`   // changes take stdio:write
	Stage     host.Stage   `json:"stage"`
	State     doctor.Level `json:"state"`
	Tools     int          `json:"tools"`
	Held      int          `json:"quarantined"`
	Decisions int          `json:"decisions"` // changes that wait to be accepted
	Tokens    int          `json:"tokens"`    // that the definitions of its tools take, estimated
	Calls     callCounts   `json:"calls"`
	Latencies []int64      `json:"latencyMs"` // of the last calls, the newest last
	Error     string       `json:"error,omitempty"`

	Action string `json:"action,omitempty"` // what helps
	Cure   string `json:"cure,omitempty"`   // likewise, in words
}

type callCounts struct {
	Ended    uint64 `json:"ended"`
	Failed   uint64 `json:"failed"` // by the server, not by what its tools did
	InFlight int    `json:"inFlight"`
}

// A standing says where a server stands.
type standing struct {
	Server string     `json:"server"`
	Stage  host.Stage `json:"stage"`
	Error  string     `json:"error,omitempty"`
}

// cureOf says what would make a server better, empty if nothing is to be done.
func cureOf(a string) string {
	return map[string]string{
		"wait":       "Wait: it is being connected, or tried again by itself.",
		"login":      "Log in at the server.",
		"allow":      "Look at its exact command, and allow the launch.",
		"accept":     "Look at what is new or has changed in its tools, and accept it.",
		"restart":    "Restart it: it runs, and fails calls.",
		"enable":     "Switch it on.",
		"configure":  "Correct its entry: a test of it says what is wrong.",
		"set_secret": "Set the variable or the credential that it lacks or that is no good.",
	}[a]
}

func (q *request) listOverviews() ([]overview, error) {
	records, err := q.manager.Servers(q.Context())
	if err != nil {
		return nil, err
	}
	recordOf := make(map[string]*manage.Server, len(records))
	for i := range records {
		recordOf[records[i].Record.Name] = &records[i]
	}
	decisions := map[string]int{}
	for _, c := range q.host.Registry().Ledger().Pending() {
		decisions[c.Server]++
	}
	tokens := map[string]int{}
	snapshot := q.host.Registry().Snapshot()
	count := toolset.TokensOf(snapshot)
	for _, t := range snapshot.Tools() {
		d := t.Definition()
		tokens[d.Origin.Server] += count(d)
	}
	latencies := q.opts.Feed.latencies()
	shown := []overview{}
	for _, h := range doctor.HealthOfAll(q.host) {
		name, total := h.Status.Name, h.Calls.Total
		one := overview{
			Name: name, Builtin: true, Local: !isRemote(h.Status.Transport), Stage: stageOf(&h.Status), State: h.Level,
			Tools: h.Status.Tools, Held: h.Status.Quarantined, Decisions: decisions[name], Tokens: tokens[name],
			Calls:     callCounts{total.Ended(), total.Failed + total.TimedOut + total.Unknown + total.Unavailable, h.Calls.InFlight},
			Latencies: append([]int64{}, latencies[name]...), Error: cmp.Or(q.hideError(name, h.Status.Err), h.Error),
		}
		if s := recordOf[name]; s != nil {
			one.ID, one.About, one.Builtin = idOf(s), s.Record.Description, s.Record.Builtin
			delete(recordOf, name)
		}
		if h.Level != doctor.LevelHealthy || h.Error != "" {
			one.Action, one.Cure = h.Action, cureOf(h.Action)
		}
		if failed := h.Status.Stage == host.StageWaiting || h.Status.Stage == host.StageInvalid; failed && h.Status.State.Phase != mcp.Ready {
			if d, err := doctor.Diagnose(q.forUser(), q.host, name); err == nil && len(d.Hints) > 0 {
				one.Cure = d.Hints[0].Text
			}
		}
		shown = append(shown, one)
	}
	for name, s := range recordOf { // the host has not taken them
		r := q.show(s)
		shown = append(shown, overview{
			Name: name, ID: r.ID, About: r.Description, Builtin: r.Builtin, Local: isLocal(s.Record),
			Stage: cmp.Or(r.Stage, map[bool]host.Stage{true: host.StageInvalid, false: host.StageDisabled}[r.Enabled]), Error: r.LastError, Latencies: []int64{},
		})
	}
	slices.SortFunc(shown, func(a, b overview) int { return cmp.Compare(a.Name, b.Name) })
	return shown, nil
}

// latencies returns how long the last calls took that went to each server, in milliseconds, as far as
// they are among the recent events. A nil feed has none.
func (f *Feed) latencies() map[string][]int64 {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	all := map[string][]int64{}
	for _, e := range slices.Backward(f.recent) {
		went := e.event.Kind == "call" && e.event.Detail["ran"] != "no"
		if server := e.event.Server; went && len(all[server]) < maxLatencies {
			all[server] = append(all[server], e.event.Duration.Milliseconds())
		}
	}
	for _, list := range all {
		slices.Reverse(list)
	}
	return all
}

func (q *request) restartServer() (standing, error) {
	name := q.PathValue("server")
	if err := q.mayStart(name); err != nil {
		return standing{}, err
	}
	err := q.host.Restart(q.forUser(), name)
	for _, s := range q.host.Servers() {
		if s.Name == name {
			return standing{s.Name, s.Stage, q.hideError(s.Name, err)}, nil
		}
	}
	return standing{}, err
}
