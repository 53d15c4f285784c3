package admin

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/manage"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/dialect"
)

func recordRoutes() []*route {
	return []*route{
		on("GET", "/api/v1/removed", View, "List the servers that can be restored, the last one at the end", (*request).listRemoved),
		on("POST", restorePath+"{id}/restore", Operate, "Restore a server; a local one takes stdio:write", (*request).restoreServer),
		with("POST", "/api/v1/test", Operate, "Try a server that is not added yet, and keep nothing; a local one takes stdio:write", (*request).testInput),
		with("POST", "/api/v1/entry", Operate, "Read an entry as it stands in a config file of any program, as a record, and keep nothing", (*request).readEntry),
		on("GET", "/api/v1/undo", View, "Show the last change of a record that was made here, null if there is none", (*request).showUndo),
		on("POST", "/api/v1/undo", Operate, "Undo that change; of a local server it takes stdio:write", (*request).undo,
			param{"at", "date-time", "of the change as it was shown; it fails if there is another one now"}, acceptParam),
	}
}

// A lastChange is one that can be undone.
type lastChange struct {
	What   string    `json:"what"`   // add, change, enable, disable or remove
	Server string    `json:"server"` // the name of its record
	At     time.Time `json:"at"`
}

func showChange(c *manage.Change) lastChange {
	shown := lastChange{What: "change", At: c.At}
	switch {
	case c.Before == nil:
		shown.What, shown.Server = "add", c.After.Title
	case c.After == nil:
		shown.What, shown.Server = "remove", c.Before.Title
	default:
		shown.Server = c.After.Title
		if c.Before.Disabled != c.After.Disabled {
			shown.What = map[bool]string{true: "disable", false: "enable"}[c.After.Disabled]
		}
	}
	return shown
}

func (q *request) showUndo() (*lastChange, error) {
	c, ok := q.manager.LastChange()
	if !ok {
		return nil, nil
	}
	shown := showChange(&c)
	return &shown, nil
}

func (q *request) undo() (lastChange, error) {
	c, ok := q.manager.LastChange()
	if !ok {
		return lastChange{}, &failure{status: http.StatusNotFound, code: string(record.CodeNotFound), detail: "there is no change to undo"}
	}
	shown := showChange(&c)
	if at := q.URL.Query().Get("at"); at != "" && at != shown.At.Format(time.RFC3339Nano) {
		return lastChange{}, &failure{status: http.StatusConflict, code: "stale", detail: "another change was made since"}
	}
	for _, r := range []*config.Server{c.Before, c.After} {
		if r == nil {
			continue
		}
		if err := q.mayStartRecord(r); err != nil {
			return lastChange{}, err
		}
	}
	if c.Before != nil {
		if err := q.mayReach(c.After, c.Before); err != nil {
			return lastChange{}, err
		}
	}
	_, err := q.manager.Undo(q.forUser(), c)
	if err == nil {
		err = q.acceptEntry(dialect.ServerName(shown.Server))
	}
	return shown, unlessKept(err)
}

func (q *request) listRemoved() ([]server, error) {
	all, err := q.manager.Removed(q.Context())
	return q.showAll(all), err
}

func (q *request) restoreServer() (server, error) {
	all, err := q.manager.Removed(q.Context())
	if err != nil {
		return server{}, err
	}
	id := q.PathValue("id")
	i := slices.IndexFunc(all, func(s manage.Server) bool { return s.ID == id })
	if i < 0 {
		return server{}, &record.Error{Code: record.CodeNotFound, Name: id}
	}
	if err := q.mayWrite(all[i].Record); err != nil {
		return server{}, err
	}
	_, err = q.manager.Restore(q.forUser(), id)
	return q.showNamed(id, err)
}

// An entryInput is the entry of a server in the text of a config file.
type entryInput struct {
	Text string `json:"text"`
	Name string `json:"name,omitempty"` // if the text has none
}

// A readEntry is an entry as a record, with the secrets that were sent.
type readEntry struct {
	Entry    server   `json:"entry"`
	Warnings []string `json:"warnings"`
}

func (q *request) readEntry(in *entryInput) (readEntry, error) {
	e, err := config.ParseEntry(q.Context(), in.Name, []byte(in.Text), q.opts.Config)
	if err != nil {
		return readEntry{}, &failure{status: http.StatusBadRequest, code: string(record.CodeValueInvalid), detail: err.Error()}
	}
	read := readEntry{Entry: q.show(&manage.Server{Stored: record.Stored{Record: record.Of(e)}}), Warnings: []string{}}
	for _, w := range e.Warnings {
		read.Warnings = append(read.Warnings, w.Error())
	}
	return read, nil
}

func (q *request) testInput(in *serverInput) (testResult, error) {
	r, err := in.record()
	if err != nil {
		return testResult{}, err
	}
	if err := record.Validate(r); err != nil { // which wants a name
		return testResult{}, err
	}
	if isLocal(r) {
		err = q.need(StdioWrite)
	} else {
		err = cmp.Or(q.mayReach(nil, r), q.maySay(nil, r))
	}
	if err != nil {
		return testResult{}, err
	}
	entry, err := record.ReadServer(q.Context(), record.NewMemoryStore(r), r.Title, q.opts.Config)
	if err != nil {
		return testResult{}, err
	}
	return q.test(entry)
}
