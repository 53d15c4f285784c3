package admin

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/doctor"
	"github.com/mcpbelt/mcpbelt/internal/toolname"
	"github.com/mcpbelt/mcpbelt/registry/approval"
)

// maxName bounds a name that is asked about, in bytes.
const maxName = 512

// A whyOffered says why a tool is offered to models, or is not.
type whyOffered struct {
	Name    string   `json:"name"`
	Server  string   `json:"server,omitempty"`
	Offered bool     `json:"offered"`
	Reasons []reason `json:"reasons"`
}

// A reason is something on the way of a tool from its entry to a model.
type reason struct {
	What  string `json:"what"`
	Where string `json:"where"` // name, entry, enabled, launch, login, connection, list, filter, gate, ledger or policy
	Cure  string `json:"cure,omitempty"`
}

// showWhy looks at what runs, and starts nothing for it.
func (q *request) showWhy() (whyOffered, error) {
	name := q.URL.Query().Get("name")
	if name == "" || len(name) > maxName {
		return whyOffered{}, &failure{status: http.StatusBadRequest, code: "value_invalid", detail: "name has to be that of a tool"}
	}
	answer := whyOffered{Name: name, Reasons: []reason{}}
	say := func(where, what, cure string) { answer.Reasons = append(answer.Reasons, reason{what, where, cure}) }
	r := q.host.Registry()
	if d, ok := r.Resolve(name); ok {
		answer.Name, answer.Server, answer.Offered = d.Name, d.Origin.Server, d.ForModels()
		if !d.ForModels() {
			say("list", "Its server has the tool for its apps alone: models are not told of it.", "")
			return answer, nil
		}
		say("list", "The tool is listed.", "")
		hidden := q.tool(d.Name) == nil // such as those that search
		if verdict, _ := r.Decide(q.forUser(), d.Name); !hidden && verdict == approval.Deny {
			answer.Offered = false
			say("policy", "The policy does not allow the caller to call it.", "Change the policy of the program.")
		} else if verdict == approval.Ask {
			say("policy", "Each call waits for approval.", "")
		}
		return answer, nil
	}
	if t := q.tool(name); t != nil {
		answer.Server = t.server
		if t.state == "quarantined" {
			say("ledger", t.reason, cureOf("accept"))
		} else {
			say("gate", t.reason, "Rename the tool in the entry, or have its server correct it.")
		}
		return answer, nil
	}
	h, tool := q.serverOf(name)
	if h == nil {
		say("name", "There is no tool of this name, and no server with whose name it begins.", "")
		return answer, nil
	}
	answer.Server = h.Status.Name
	where, what := placeOf(h.Status.Stage)
	cure := cureOf(h.Action)
	if where == "list" && q.filters(h.Status.Name, tool) {
		where, what, cure = "filter", `The "tools" of the entry leave it out.`, "Change them in the entry."
	}
	if where != "list" && where != "enabled" && where != "filter" {
		what = cmp.Or(h.Error, what)
	}
	say(where, what, cure)
	return answer, nil
}

// placeOf returns where a server of a stage keeps a tool back that the registry does not know.
func placeOf(stage host.Stage) (where, what string) {
	place, ok := map[host.Stage][2]string{
		host.StageDisabled:   {"enabled", "The server is switched off."},
		host.StageInvalid:    {"entry", "The entry of the server cannot be used."},
		host.StageNotAllowed: {"launch", "The launch of the server was not allowed."},
		host.StageLogin:      {"login", "The server waits for the user to log in."},
		host.StageStarting:   {"connection", "There is no connection to the server."},
		host.StageWaiting:    {"connection", "There is no connection to the server."},
		host.StageConfigured: {"connection", "The server was not started yet, so its tools are not known."},
	}[stage]
	if !ok {
		return "list", "The server does not list such a tool."
	}
	return place[0], place[1]
}

// serverOf returns the server with whose name that of a tool begins, the longest one, and what is behind it.
func (q *request) serverOf(name string) (found *doctor.Health, tool string) {
	behind := map[string]string{}
	for _, asked := range []toolname.Name{toolname.Fold(name), toolname.Fold(name).WithoutMCP()} {
		for server, rest := range asked.Splits() {
			behind[server] = rest
		}
	}
	for _, h := range doctor.HealthOfAll(q.host) {
		rest, ok := behind[toolname.Fold(h.Status.Name).Folded]
		if ok && (found == nil || len(h.Status.Name) > len(found.Status.Name)) {
			found, tool = &h, rest
		}
	}
	return found, tool
}

// filters reports whether the entry of a server leaves out a tool of a folded name.
func (q *request) filters(server, tool string) bool {
	is, err := q.host.Inspect(server)
	if err != nil {
		return false
	}
	f := is.Entry.Tools
	has := func(list []string) bool {
		return slices.ContainsFunc(list, func(name string) bool { return toolname.Fold(name).Folded == tool })
	}
	return has(f.Deny) || f.Allow != nil && !has(f.Allow)
}
