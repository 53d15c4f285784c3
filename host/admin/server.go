package admin

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/consent"
	"github.com/mcpbelt/mcpbelt/host/doctor"
	"github.com/mcpbelt/mcpbelt/host/manage"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// serversPath is below which the records of servers are.
const serversPath = "/api/v1/mcp/servers"

// restorePath is where what was removed is restored, with the ID after it.
const restorePath = "/api/v1/removed/"

func serverRoutes() []*route {
	one := serversPath + "/{id}"
	test := with("POST", one+"/test", Operate, "Try a server on a connection of its own, as it is or as the body would change it; a local one takes stdio:write", (*request).testServer)
	test.optional = true
	return []*route{
		on("GET", serversPath, View, "List the servers", (*request).listServers),
		with("POST", serversPath, Operate, "Add a server; a local one takes stdio:write", (*request).addServer),
		on("GET", one, View, "Show a server", (*request).showServer),
		with("PUT", one, Operate, "Change what the body names; a local server takes stdio:write", (*request).changeServer, acceptParam),
		on("DELETE", one, Operate, "Remove a server, which can be restored; a local one takes stdio:write", (*request).removeServer),
		on("PUT", one+"/toggle", Operate, "Switch a server on or off; a local one takes stdio:write to be switched on", (*request).toggleServer,
			param{"enabled", "boolean", "whether it is to run"}),
		test,
		on("POST", serversPath+"/refresh", Operate, "Connect to all servers again; takes stdio:write if one is local", (*request).refreshServers),
		on("GET", one+"/tools", View, "List the tools of a server", (*request).listTools),
	}
}

// A removal says what was removed, and how to take that back.
type removal struct {
	ID      string `json:"id"`
	Restore string `json:"restore,omitempty"` // the path to post to
}

// A testResult says what came of a test.
type testResult struct {
	Success         bool               `json:"success"`
	Message         string             `json:"message"`
	ToolCount       int                `json:"toolCount"`
	LatencyMs       int64              `json:"latencyMs"`
	DiscoveredTools []string           `json:"discoveredTools"`
	Timestamp       string             `json:"timestamp"`
	Report          *doctor.TestReport `json:"report,omitempty"`
}

// A refreshed says what could not be refreshed.
type refreshed struct {
	Refreshed int               `json:"refreshed"` // how many servers are connected now
	Failed    map[string]string `json:"failed"`    // what is wrong with the others, by name
}

// A tool is one of a server.
type tool struct {
	Name           string          `json:"name"`
	RegisteredName string          `json:"registeredName,omitempty"`
	Title          string          `json:"title,omitempty"`
	Description    string          `json:"description,omitempty"`
	InputSchema    json.RawMessage `json:"inputSchema,omitempty"`
	State          string          `json:"state"` // listed, quarantined or rejected
	Reason         string          `json:"reason,omitempty"`
}

// localTime formats a time without its zone, which is UTC.
func localTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05")
}

func idOf(s *manage.Server) string { return cmp.Or(s.ID, s.Record.Title) }

// transportOf returns the transport of a record under its name in this API.
func transportOf(r *config.Server) string {
	if kind := r.Kind(); kind != config.TransportHTTP {
		return kind
	}
	return "streamable_http"
}

// showStatus puts where a server stands now in the place of what was kept, which is older.
func (a *admin) showStatus(shown *server, s *host.Status) {
	shown.Stage = stageOf(s)
	if s.Stage == host.StageStarting && s.Err == nil {
		return // it is not clear yet what becomes of it
	}
	shown.LastStatus, shown.LastError = record.StatusDisconnected, ""
	if s.Stage == host.StageReady {
		shown.LastStatus, shown.ToolCount = record.StatusConnected, s.Tools
		if !s.State.Since.IsZero() {
			shown.LastConnected = localTime(s.State.Since)
		}
	}
	if s.Stage == host.StageDisabled {
		return
	}
	if text := a.hideError(s.Name, s.Err); text != "" {
		shown.LastStatus, shown.LastError = record.StatusError, text
	} else if u := s.Unapplied; u != nil {
		shown.LastError = u.Entry.MaskError(u.Err)
	}
}

// stageOf returns where a server stands: one that is ready and offers nothing, since all of its tools are held back, is
// in quarantine.
func stageOf(s *host.Status) host.Stage {
	if s.Stage == host.StageReady && s.Tools == 0 && s.Quarantined > 0 {
		return host.StageQuarantined
	}
	return s.Stage
}

// hideError returns the text of an error about a server, without the secrets of its entry.
func (a *admin) hideError(name string, err error) string {
	if err == nil {
		return ""
	}
	is, inspectErr := a.host.Inspect(name)
	if inspectErr != nil {
		return "it failed"
	}
	return is.Entry.MaskError(plainly(err))
}

// plainly returns an error about a server without the words that are for programs.
func plainly(err error) error {
	if denied, ok := errors.AsType[*host.LaunchNotAllowedError](err); ok && denied.Err == nil {
		if denied.Verdict == consent.Rejected {
			return errors.New("its launch was denied")
		}
		return errors.New("its launch has to be allowed")
	}
	if login, ok := errors.AsType[*auth.LoginRequiredError](err); ok && !login.StepUp() {
		return errors.New(cmp.Or(login.Reason, "the user has to log in"))
	}
	if away, ok := errors.AsType[*mcp.UnavailableError](err); ok {
		return away.Err
	}
	return err
}

func jsonText(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(data)
}

func (q *request) listServers() ([]server, error) {
	all, err := q.manager.Servers(q.Context())
	return q.showAll(all), err
}

func (a *admin) showAll(all []manage.Server) []server {
	shown := make([]server, len(all))
	for i := range all {
		shown[i] = a.show(&all[i])
	}
	return shown
}

// server returns the server that the path names.
func (q *request) server() (manage.Server, error) {
	return q.manager.Server(q.Context(), q.PathValue("id"))
}

// anyServer is server, also of one whose entry stands in a file that is not changed here.
func (q *request) anyServer(name string) (manage.Server, error) {
	s, err := q.manager.Server(q.Context(), name)
	is, inspectErr := q.host.Inspect(name)
	if err == nil || inspectErr != nil {
		return s, err
	}
	s.Record = record.Of(is.Entry.Masked())
	for _, status := range q.host.Servers() {
		if status.Name == name {
			s.Status = &status
		}
	}
	return s, nil
}

func (q *request) showServer() (server, error) {
	s, err := q.anyServer(q.PathValue("id"))
	if err != nil {
		return server{}, err
	}
	shown := q.show(&s)
	if is, err := q.host.Inspect(shown.Name); err == nil && s.Revision == "" {
		shown.Source, shown.Elsewhere = is.Entry.Source.String(), true
	}
	return shown, nil
}

// showNamed returns the server of a name or ID after a change, which is made also if the host
// could not start it: its status says so.
func (q *request) showNamed(name string, changed error) (server, error) {
	if err := unlessKept(changed); err != nil {
		return server{}, err
	}
	s, err := q.manager.Server(q.Context(), name)
	if err != nil {
		return server{}, err
	}
	return q.show(&s), nil
}

// unlessKept returns the error of a change, and nil for one that was made though a server could not
// be started.
func unlessKept(err error) error {
	if failed := (*host.ServersError)(nil); errors.As(err, &failed) {
		return nil
	}
	return err
}

// record returns the record that the input describes.
func (in *serverInput) record() (*config.Server, error) {
	p, err := in.patch(nil)
	if err != nil {
		return nil, err
	}
	return p.Apply(nil)
}

func (q *request) addServer(in *serverInput) (server, error) {
	r, err := in.record()
	if err != nil {
		return server{}, err
	}
	if err := cmp.Or(q.mayWrite(r), q.maySay(nil, r)); err != nil {
		return server{}, err
	}
	_, err = q.manager.Add(q.forUser(), r)
	return q.showNamed(r.Title, err)
}

// mayStartRecord is mayStart of the name of a record that is to be kept, which itself counts, too.
func (q *request) mayStartRecord(r *config.Server) error {
	if isLocal(r) {
		return q.need(StdioWrite)
	}
	return q.mayStart(r.Name)
}

// mayWrite fails if the caller may not have a new record be kept, and started.
func (q *request) mayWrite(r *config.Server) error {
	if err := q.mayStartRecord(r); err != nil {
		return err
	}
	return q.mayReach(nil, r)
}

// edit returns what the input changes of a server, as far as the caller may have that started.
func (q *request) edit(in *serverInput, s *manage.Server) (*record.Patch, error) {
	p, err := in.patch(s.Record)
	if err != nil || q.need(StdioWrite) == nil {
		return p, err
	}
	q.pin(p, s)
	becomes := record.Of(&config.Server{Title: cmp.Or(p.Values.Title, s.Record.Title), Command: p.Values.Command, Transport: p.Values.Transport, URL: "http://remote"})
	if err = cmp.Or(q.mayStart(s.Record.Name), q.mayStartRecord(becomes)); err == nil {
		becomes, err = p.Apply(s.Record)
	}
	if err == nil {
		err = cmp.Or(q.mayReach(s.Record, becomes), q.maySay(s.Record, becomes))
	}
	return p, err
}

func (q *request) changeServer(in *serverInput) (server, error) {
	s, err := q.server()
	if err != nil {
		return server{}, err
	}
	p, err := q.edit(in, &s)
	if err != nil {
		return server{}, err
	}
	q.remember(&s)
	_, err = q.manager.Update(q.forUser(), idOf(&s), p)
	if err == nil {
		err = q.acceptEntry(dialect.ServerName(cmp.Or(p.Values.Title, s.Record.Title)))
	}
	return q.showNamed(cmp.Or(s.ID, p.Values.Title, s.Record.Title), err)
}

// pin has a patch of a caller who may not start processes apply to the record that was looked
// at alone: another one may be local.
func (q *request) pin(p *record.Patch, s *manage.Server) {
	if q.need(StdioWrite) != nil && p.Revision == "" {
		p.Revision = s.Revision
	}
}

func (q *request) toggleServer() (server, error) {
	on, err := strconv.ParseBool(q.URL.Query().Get("enabled"))
	if err != nil {
		return server{}, &failure{status: http.StatusBadRequest, code: string(record.CodeValueInvalid), detail: "enabled has to be true or false"}
	}
	s, err := q.server()
	if err != nil {
		return server{}, err
	}
	if on {
		if err := q.mayStart(s.Record.Name); err != nil {
			return server{}, err
		}
	}
	p := record.Switch(on)
	q.pin(p, &s)
	if _, err = q.manager.Update(q.forUser(), idOf(&s), p); err == nil && on {
		err = q.switchOn(&s)
	}
	return q.showNamed(idOf(&s), err)
}

// switchOn starts a server that the host was told to stop though its record wants it to run.
func (q *request) switchOn(s *manage.Server) error {
	if s.Status == nil || s.Record.Disabled || s.Status.Enabled {
		return nil
	}
	if err := q.host.Enable(q.forUser(), s.Status.Name); err != nil {
		return &host.ServersError{Failed: map[string]error{s.Status.Name: err}}
	}
	return nil
}

func (q *request) removeServer() (removal, error) {
	s, err := q.server()
	if err != nil {
		return removal{}, err
	}
	if err := q.mayStart(s.Record.Name); err != nil {
		return removal{}, err
	}
	_, err = q.manager.Remove(q.forUser(), idOf(&s))
	if err := unlessKept(err); err != nil {
		return removal{}, err
	}
	gone := removal{ID: idOf(&s)}
	if s.ID != "" {
		gone.Restore = restorePath + s.ID + "/restore"
	}
	return gone, nil
}

func (q *request) testServer(in *serverInput) (testResult, error) {
	s, err := q.anyServer(q.PathValue("id"))
	if err != nil {
		return testResult{}, err
	}
	if len(q.data) > 0 {
		p, err := q.edit(in, &s)
		if err != nil {
			return testResult{}, err
		}
		entry, err := q.manager.Preview(q.forUser(), idOf(&s), p)
		if err != nil {
			return testResult{}, err
		}
		return q.test(entry)
	}
	name := s.Record.Name
	if err := q.mayStart(name); err != nil {
		return testResult{}, err
	}
	is, err := q.host.Inspect(name)
	if err != nil {
		return testResult{}, err
	}
	entry := is.Entry
	if s.Status != nil && s.Status.Unapplied != nil {
		entry = s.Status.Unapplied.Entry
	}
	return q.test(entry)
}

// test tries an entry.
func (q *request) test(entry *config.Server) (testResult, error) {
	if !isRemote(entry.Transport) {
		if err := q.need(StdioWrite); err != nil {
			return testResult{}, err
		}
	}
	report, err := doctor.Test(q.forUser(), q.host, entry)
	if err != nil {
		return testResult{}, err
	}
	report.Error = cmp.Or(entry.MaskError(plainly(report.Err)), report.Error)
	plainHints(report.Hints)
	result := testResult{
		Success: report.Success, Message: "Connected", LatencyMs: int64(report.TookSeconds * 1000),
		DiscoveredTools: []string{}, Timestamp: localTime(time.Now()), Report: report,
	}
	if !report.Success {
		result.Message = report.Error
	}
	for _, t := range report.Tools {
		result.DiscoveredTools = append(result.DiscoveredTools, t.Name)
	}
	result.ToolCount = len(result.DiscoveredTools)
	return result, nil
}

func (q *request) refreshServers() (refreshed, error) {
	if err := q.mayStart(""); err != nil {
		return refreshed{}, err
	}
	if err := q.host.Refresh(q.forUser()); err != nil && q.Context().Err() != nil {
		return refreshed{}, q.Context().Err()
	}
	done := refreshed{Failed: map[string]string{}}
	for _, s := range q.host.Servers() {
		switch text := q.hideError(s.Name, s.Err); {
		case text != "":
			done.Failed[s.Name] = text
		case s.Stage == host.StageReady:
			done.Refreshed++
		}
	}
	return done, nil
}

func (q *request) listTools() ([]tool, error) {
	s, err := q.anyServer(q.PathValue("id"))
	if err != nil {
		return nil, err
	}
	name, tools := s.Record.Name, []tool{}
	for t := range q.allTools(q.host.Registry().Snapshot()) {
		switch d := t.def; {
		case t.server != name:
		case d == nil:
			tools = append(tools, tool{Name: t.name, State: t.state, Reason: t.reason})
		default:
			tools = append(tools, tool{d.Origin.Tool, d.Name, d.Title, d.Description, d.InputSchema, t.state, t.reason})
		}
	}
	return tools, nil
}
