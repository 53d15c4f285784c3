package admin

import (
	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/manage"
	"github.com/mcpbelt/mcpbelt/host/record"
)

func recordRoutes() []*route {
	return []*route{
		{method: "GET", path: "/api/v1/removed", role: View, summary: "List the servers that can be restored, the last one at the end", out: []server{}, serve: (*request).listRemoved},
		{method: "POST", path: restorePath + "{id}/restore", role: Operate, summary: "Restore a server; a local one takes stdio:write", out: server{}, serve: (*request).restoreServer},
		{method: "POST", path: "/api/v1/test", role: Operate, summary: "Try a server that is not added yet, and keep nothing; a local one takes stdio:write", in: serverInput{}, out: testResult{}, serve: (*request).testInput},
		{method: "POST", path: "/api/v1/servers/{server}/restart", role: Operate, summary: "Connect to a server again; a local one takes stdio:write", out: standing{}, serve: (*request).restartServer},
	}
}

// A standing says where a server stands.
type standing struct {
	Server string     `json:"server"`
	Stage  host.Stage `json:"stage"`
	Error  string     `json:"error,omitempty"`
}

func (q *request) listRemoved() (any, error) {
	all, err := q.manager.Removed(q.Context())
	if err != nil {
		return nil, err
	}
	shown := make([]server, len(all))
	for i := range all {
		shown[i] = q.show(&all[i])
	}
	return shown, nil
}

func (q *request) restoreServer() (any, error) {
	all, err := q.manager.Removed(q.Context())
	if err != nil {
		return nil, err
	}
	id := q.PathValue("id")
	var found *manage.Server
	for i := range all {
		if all[i].ID == id {
			found = &all[i]
		}
	}
	if found == nil {
		return nil, &record.Error{Code: record.CodeNotFound, Name: id}
	}
	if err := q.mayStartRecord(found.Record, found.Record.ServerName()); err != nil {
		return nil, err
	}
	_, err = q.manager.Restore(q.forUser(), id)
	return q.showNamed(id, err)
}

func (q *request) testInput() (any, error) {
	var in serverInput
	if err := q.decode(&in); err != nil {
		return nil, err
	}
	p, err := in.patch(nil)
	if err != nil {
		return nil, err
	}
	r, err := new(record.Record).Apply(p)
	if err != nil {
		return nil, err
	}
	if err := r.Validate(); err != nil { // which wants a name
		return nil, err
	}
	if isLocal(r) {
		if err := q.need(StdioWrite); err != nil {
			return nil, err
		}
	}
	entry, err := record.ReadServer(q.Context(), record.NewMemoryStore(r), r.Name, q.opts.Config)
	if err != nil {
		return nil, err
	}
	return q.test(entry)
}

func (q *request) restartServer() (any, error) {
	name := q.PathValue("server")
	if err := q.mayStart(name); err != nil {
		return nil, err
	}
	err := q.host.Restart(q.forUser(), name)
	for _, s := range q.host.Servers() {
		if s.Name == name {
			return standing{s.Name, s.Stage, q.hideError(s.Name, err)}, nil
		}
	}
	return nil, err
}
