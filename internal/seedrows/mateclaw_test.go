package seedrows

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/doctor"
	"github.com/mcpbelt/mcpbelt/host/manage"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/mask"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	regnames "github.com/mcpbelt/mcpbelt/registry/names"
	"github.com/mcpbelt/mcpbelt/registry/policy"
	"github.com/mcpbelt/mcpbelt/registry/result"
	"github.com/mcpbelt/mcpbelt/session"
)

// The requests of the document.
const (
	mateclawFilesystem = `{
    "name": "filesystem",
    "description": "File system read/write tools",
    "transport": "stdio",
    "command": "npx",
    "argsJson": "[\"-y\", \"@anthropic/mcp-filesystem\", \"/home/user/workspace\"]",
    "enabled": true
  }`
	mateclawRemote = `{
    "name": "remote-tools",
    "description": "Remote tool service",
    "transport": "streamable_http",
    "url": "https://mcp.example.com/mcp",
    "headersJson": "{\"Authorization\": \"Bearer your-api-key\"}",
    "connectTimeoutSeconds": 15,
    "readTimeoutSeconds": 60,
    "enabled": true
  }`
	mateclawInternal = `{
    "name": "internal-data-service",
    "description": "Internal enterprise data query MCP service",
    "transport": "streamable_http",
    "url": "https://mcp-api.internal.example.com/mcp",
    "headersJson": "{\"Authorization\": \"Bearer sk-your-api-key\", \"X-Team-Id\": \"engineering\"}",
    "connectTimeoutSeconds": 10,
    "readTimeoutSeconds": 120,
    "enabled": true
  }`
	mateclawTavily = `{
    "name": "tavily-search",
    "description": "Tavily real-time web search",
    "transport": "stdio",
    "command": "npx",
    "argsJson": "[\"-y\", \"@anthropic/mcp-tavily\"]",
    "envJson": "{\"TAVILY_API_KEY\": \"${TAVILY_API_KEY}\"}",
    "enabled": true
  }`
	mateclawLegacy = `{
    "name": "legacy-mcp-server",
    "description": "Legacy SSE transport MCP server",
    "transport": "sse",
    "url": "http://192.168.1.100:3001/sse",
    "enabled": true
  }`
	mateclawUpdate = `{
    "description": "Updated description",
    "readTimeoutSeconds": 60
  }`
	mateclawTools = "filesystem__get_file_info filesystem__list_directory filesystem__read_file filesystem__search_files filesystem__write_file"
)

// mateclawRecord reads a request. A door that speaks MateClaw's REST has to do the same:
// maps and lists come as texts.
func mateclawRecord(t *testing.T, request string) *record.Record {
	t.Helper()
	members := decode[map[string]json.RawMessage](t, request)
	for _, key := range []string{"args", "env", "headers"} {
		if text := members[key+"Json"]; text != nil {
			members[key] = json.RawMessage(decode[string](t, string(text)))
			delete(members, key+"Json")
		}
	}
	r := decode[record.Record](t, encode(t, members))
	return &r
}

// mateclawHost runs the servers of requests, of which one may be at another address.
func mateclawHost(t *testing.T, opts *host.Options, requests ...string) *manage.Manager {
	t.Helper()
	store := record.NewMemoryStore()
	m := manage.New(openStore(t, store, opts), store, nil)
	for _, r := range requests {
		assert.Value(m.Add(patience(t), mateclawRecord(t, r)))(t)
	}
	return m
}

func mateclawPatch(t *testing.T, text string) *record.Patch {
	t.Helper()
	p := decode[record.Patch](t, text)
	return &p
}

func TestMateClaw(t *testing.T) { t.Parallel(); run(t, mateclaw) }

var mateclaw = []row{
	{1, func(t *testing.T) {
		at := remote(t, "Authorization").URL
		m := mateclawHost(t, nil, mateclawFilesystem,
			strings.ReplaceAll(mateclawRemote, "https://mcp.example.com", at), strings.ReplaceAll(mateclawLegacy, "http://192.168.1.100:3001", at))
		h := m.Host()
		for name, want := range map[string]string{"filesystem": "stdio", "remote-tools": "http", "legacy-mcp-server": "sse"} {
			s := status(t, h, name)
			equal(t, name, string(s.Stage)+" over "+s.Transport, "ready over "+want)
		}
		equal(t, "the header", call(t, h, "remote-tools__Authorization", `{}`), "Bearer your-api-key{}")
	}},
	{7, func(t *testing.T) {
		r := mateclawRecord(t, mateclawFilesystem)
		equal(t, "the record", strings.Join(append([]string{r.Name, r.Description, r.Transport, r.Command}, r.Args...), "|"),
			"filesystem|File system read/write tools|stdio|npx|-y|@anthropic/mcp-filesystem|/home/user/workspace")
		for name, ok := range map[string]bool{"My server_1-a.b": true, strings.Repeat("a", 128): true, strings.Repeat("a", 129): false, "a/b": false, "": false} {
			equal(t, "the name "+name, (&record.Record{Name: name, Command: "npx"}).Validate() == nil, ok)
		}
		equal(t, "enabled by default", mateclawRecord(t, `{"name":"a","command":"npx"}`).Disabled, false)
		store := record.NewMemoryStore(&record.Record{Name: "own", Command: "npx", Builtin: true, Disabled: true})
		m := manage.New(openStore(t, store, nil), store, nil)
		_, err := m.Remove(patience(t), "own")
		equal(t, "a builtin server is not deleted", errors.Is(err, &record.Error{Code: record.CodeBuiltinReadOnly}), true)
		t.Run("id, times and logical delete", func(t *testing.T) {
			m := mateclawHost(t, nil, strings.Replace(mateclawFilesystem, `"enabled": true`, `"enabled": false`, 1))
			shown := func() struct{ Name, ID, CreateTime, UpdateTime string } {
				all, err := m.Servers(patience(t))
				if err != nil || len(all) != 1 {
					t.Fatalf("got %d records and the error %v, want 1", len(all), err)
				}
				return decode[struct{ Name, ID, CreateTime, UpdateTime string }](t, encode(t, all[0]))
			}
			before := shown()
			if before.ID == "" || before.CreateTime == "" || before.UpdateTime == "" {
				t.Errorf("got %+v, want an id and times", before)
			}
			if _, err := m.Update(patience(t), before.ID, mateclawPatch(t, `{"name":"files"}`)); err != nil {
				t.Fatal(err)
			}
			equal(t, "the id of a server with another name", shown().Name+" "+shown().ID, "files "+before.ID)
			if _, err := m.Remove(patience(t), before.ID); err != nil {
				t.Fatal(err)
			}
			if _, err := m.Restore(patience(t), before.ID); err != nil {
				t.Fatal(err)
			}
			equal(t, "the id after the deletion was undone", shown().ID, before.ID)
		})
	}},
	{11, func(t *testing.T) {
		m := mateclawHost(t, nil, mateclawTavily)
		h := m.Host()
		equal(t, "the variable", call(t, h, "tavily-search__TAVILY_API_KEY", ``), "tvly-made-up{}")
		at := remote(t, "Authorization").URL
		request := strings.NewReplacer("https://mcp.example.com", at, "Bearer your-api-key", "Bearer ${MCP_API_KEY}").Replace(mateclawRemote)
		equal(t, "the header", call(t, mateclawHost(t, nil, request).Host(), "remote-tools__Authorization", ``), "Bearer made-up-key{}")
		// The document has $VAR, too. Here it is read in the files of programs that do so.
		c, err := config.Parse(t.Context(), ".gemini/settings.json", []byte(`{"mcpServers":{"s":{"command":"npx","env":{"K":"$MCP_API_KEY $MCP_API_KEY_ID"}}}}`), nil)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "variables of similar names", c.Servers[0].Env["K"].Reveal(), "made-up-key another")
	}},
	{13, func(t *testing.T) {
		equal(t, "the form of masks", mask.String("sk-0123456789abcd"), "sk-****abcd")
		r := mateclawRecord(t, strings.ReplaceAll(mateclawInternal, "https://mcp-api.internal.example.com", "http://127.0.0.1:1"))
		shown := encode(t, r)
		equal(t, "the key is shown in "+shown, strings.Contains(shown, "sk-your-api-key"), false)
		echo := decode[record.Patch](t, encode(t, map[string]any{"headers": decode[map[string]json.RawMessage](t, shown)["headers"]}))
		kept, err := r.Apply(&echo)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "a masked value that comes back", kept.Headers["Authorization"].Reveal(), "Bearer sk-your-api-key")
		contains(t, "arguments as they are", encode(t, mateclawRecord(t, mateclawFilesystem)), `"args":["-y","@anthropic/mcp-filesystem","/home/user/workspace"]`)
	}},
	{14, func(t *testing.T) {
		before := mateclawRecord(t, mateclawRemote)
		after, err := before.Apply(mateclawPatch(t, mateclawUpdate))
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "description", after.Description, "Updated description")
		equal(t, "read timeout", after.ReadTimeout, 60*time.Second)
		equal(t, "what is not passed", after.URL+after.ConnectTimeout.String()+after.Headers["Authorization"].Reveal(), "https://mcp.example.com/mcp15sBearer your-api-key")
		cleared, err := before.Apply(mateclawPatch(t, `{"description": ""}`))
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "what is passed empty", cleared.Description, "")
	}},
	{15, func(t *testing.T) {
		r := mateclawRecord(t, mateclawInternal)
		equal(t, "the limits", r.ConnectTimeout.String()+" "+r.ReadTimeout.String(), "10s 2m0s")
		hung := script(t, mcptest.Script{"tools/list": tools(plain("look")), "tools/call": mcptest.Hang})
		m := mateclawHost(t, fakes(fakeServers{"slow": hung}), `{"name":"slow","command":"x","readTimeoutSeconds":0.05}`)
		h := m.Host()
		_, err := h.Registry().Call(patience(t), "slow__look", nil)
		var timeout *mcp.TimeoutError
		equal(t, "a call that takes too long ends by the limit", errors.As(err, &timeout), true)
	}},
	{16, func(t *testing.T) {
		m := mateclawHost(t, nil, mateclawFilesystem)
		h := m.Host()
		before := status(t, h, "filesystem").State
		entry, err := record.ReadServer(patience(t), record.NewMemoryStore(mateclawRecord(t, mateclawFilesystem)), "filesystem", nil)
		if err != nil {
			t.Fatal(err)
		}
		report, err := doctor.Test(patience(t), h, entry, nil)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "success", report.Success, true)
		var found []string
		for _, tool := range report.Tools {
			found = append(found, tool.Name)
		}
		for _, want := range []string{"read_file", "write_file", "list_directory", "search_files", "get_file_info"} {
			contains(t, "discovered tools", strings.Join(found, " "), want)
		}
		equal(t, "the latency is told", report.Took > 0, true)
		after := status(t, h, "filesystem").State
		equal(t, "the live process", after.PID, before.PID)
		equal(t, "its connections", after.Connections, before.Connections)
	}},
	{17, func(t *testing.T) {
		m := mateclawHost(t, nil, mateclawFilesystem)
		h := m.Host()
		before := status(t, h, "filesystem").State.PID
		report, err := m.Update(patience(t), "filesystem", mateclawPatch(t, `{"args":["-y","@anthropic/mcp-filesystem","/elsewhere"]}`))
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "replaced", strings.Join(report.Replaced, " "), "filesystem")
		now := status(t, h, "filesystem").State.PID
		equal(t, "the same process", now == before, false)
		report, err = m.Update(patience(t), "filesystem", mateclawPatch(t, `{"command":"/no/such/program"}`))
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "the failure is told", report.Failed["filesystem"] != nil, true)
		equal(t, "the old client", status(t, h, "filesystem").State.PID, now)
		equal(t, "its tools", call(t, h, "filesystem__read_file", `{}`), `{}`)
		t.Run("and says so", func(t *testing.T) {
			health, err := doctor.HealthOf(h, "filesystem")
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "healthy", health.Level == doctor.LevelHealthy, false)
			equal(t, "what helps", health.Action, doctor.ActionConfigure)
			contains(t, "the status says why", encode(t, health), "/no/such/program")
		})
	}},
	{18, func(t *testing.T) {
		m := mateclawHost(t, nil, mateclawFilesystem, mateclawTavily)
		h := m.Host()
		before := status(t, h, "filesystem").State.PID
		if err := h.Restart(patience(t), "filesystem"); err != nil {
			t.Fatal(err)
		}
		equal(t, "the process after a restart is the old one", status(t, h, "filesystem").State.PID == before, false)
		other := status(t, h, "tavily-search").State.PID
		if err := h.Refresh(patience(t)); err != nil {
			t.Fatal(err)
		}
		equal(t, "the process after refreshing all is the old one", status(t, h, "tavily-search").State.PID == other, false)
		equal(t, "tools", names(h.Registry()), mateclawTools+" tavily-search__PARENT_SECRET tavily-search__TAVILY_API_KEY")
	}},
	{19, func(t *testing.T) {
		broken := mateclawRecord(t, strings.ReplaceAll(mateclawRemote, "https://mcp.example.com", "http://127.0.0.1:1"))
		h := openStore(t, record.NewMemoryStore(broken, mateclawRecord(t, mateclawFilesystem)), nil)
		equal(t, "one that works", status(t, h, "filesystem").Stage, host.StageReady)
		equal(t, "one that fails", status(t, h, "remote-tools").Stage, host.StageWaiting)
		equal(t, "the failure is told", status(t, h, "remote-tools").Err != nil, true)
	}},
	{20, func(t *testing.T) {
		statuses := record.OpenStatusFile(filepath.Join(t.TempDir(), "status.json"))
		store := record.NewMemoryStore(mateclawRecord(t, mateclawFilesystem), mateclawRecord(t, `{"name":"broken","command":"/no/such/program"}`))
		m := manage.New(openStore(t, store, nil), store, &manage.Options{Statuses: statuses})
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		kept, err := statuses.Statuses(patience(t))
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "tool_count", kept["filesystem"].Tools, 5)
		equal(t, "last_error of success", kept["filesystem"].Error, "")
		equal(t, "last_connected_time is there", kept["filesystem"].Connected.IsZero(), false)
		equal(t, "last_status of failure", kept["broken"].Status, record.StatusError)
		contains(t, "last_error of failure", kept["broken"].Error, "/no/such/program")
		t.Run("of a server that cannot list", func(t *testing.T) {
			statuses := record.OpenStatusFile(filepath.Join(t.TempDir(), "status.json"))
			opts := fakes(fakeServers{"s": script(t, mcptest.Script{"tools/list": mcptest.Error(-32603, "the index is locked")})})
			opts.OpenWait = time.Millisecond
			store := record.NewMemoryStore(&record.Record{Name: "s", Command: "x"})
			m := manage.New(openStore(t, store, opts), store, &manage.Options{Statuses: statuses})
			until(t, m.Host(), "s", func(s host.Status) bool { return s.Stage == host.StageWaiting && s.Err != nil })
			if err := m.Close(); err != nil {
				t.Fatal(err)
			}
			kept, err := statuses.Statuses(patience(t))
			if err != nil {
				t.Fatal(err)
			}
			contains(t, "last_error", kept["s"].Error, "the index is locked")
		})
	}},
	{21, func(t *testing.T) {
		m := mateclawHost(t, nil, mateclawFilesystem)
		h := m.Host()
		state := func() string {
			all, err := m.Servers(patience(t))
			if err != nil {
				t.Fatal(err)
			}
			return string(all[0].Status.Stage)
		}
		equal(t, "connected", state(), string(host.StageReady))
		if err := h.Disable(patience(t), "filesystem"); err != nil {
			t.Fatal(err)
		}
		equal(t, "disconnected", state(), string(host.StageDisabled))
		equal(t, "its tools", names(h.Registry()), "")
		if err := h.Enable(patience(t), "filesystem"); err != nil {
			t.Fatal(err)
		}
		equal(t, "connected again", names(h.Registry()), mateclawTools)
	}},
	{23, func(t *testing.T) {
		for how, end := range map[string]func(m *manage.Manager) error{
			"disabled": func(m *manage.Manager) error { return m.Host().Disable(patience(t), "filesystem") },
			"deleted":  func(m *manage.Manager) error { _, err := m.Remove(patience(t), "filesystem"); return err },
			"replaced": func(m *manage.Manager) error { return m.Host().Restart(patience(t), "filesystem") },
			"shutdown": func(m *manage.Manager) error { return m.Close() },
		} {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			m := mateclawHost(t, nil, strings.Replace(mateclawFilesystem, `"enabled"`, `"envJson": "{\"LIFELINE\": \"`+l.Addr().String()+`\"}", "enabled"`, 1))
			process, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			if err := end(m); err != nil {
				t.Fatal(err)
			}
			_ = process.SetDeadline(time.Now().Add(time.Minute)) // of a test that hangs
			if _, err = process.Read(make([]byte, 1)); !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("%s: got %v of the process, want that it has ended", how, err)
			}
			_, _ = process.Close(), l.Close()
		}
	}},
	{24, func(t *testing.T) {
		opts := fakes(fakeServers{"hung": mcptest.NewServer(t, mcptest.Script{"server/discover": mcptest.Hang, "initialize": mcptest.Hang})})
		opts.OpenWait = time.Millisecond
		store := record.NewMemoryStore(&record.Record{Name: "hung", Command: "x"}, mateclawRecord(t, mateclawFilesystem))
		h := openStore(t, store, opts)
		m := manage.New(h, store, nil)
		if _, err := m.Update(patience(t), "filesystem", mateclawPatch(t, mateclawUpdate)); err != nil {
			t.Fatal(err)
		}
		equal(t, "another server is worked on meanwhile", status(t, h, "hung").Stage, host.StageStarting)
	}},
	{33, func(t *testing.T) {
		opts := &host.Options{Registry: registry.New(&registry.Options{Names: regnames.Names{Scheme: regnames.BareTool}})}
		m := mateclawHost(t, opts, mateclawFilesystem, strings.Replace(mateclawFilesystem, `"filesystem"`, `"second"`, 1))
		h := m.Host()
		all := strings.Fields(names(h.Registry()))
		equal(t, "two servers with the same tools: names", len(slices.Compact(all)), 5)
		rejected := append(status(t, h, "filesystem").Rejected, status(t, h, "second").Rejected...)
		equal(t, "names that are taken", len(rejected), 5)
		for _, r := range rejected {
			var duplicate *registry.DuplicateError
			equal(t, "a name that is taken is refused with the reason", errors.As(r.Err, &duplicate), true)
		}
		native := registry.MustFunc("read_file", "", func(context.Context, struct{}) (string, error) { return "", nil })
		var duplicate *registry.DuplicateError
		equal(t, "a name that is taken is refused", errors.As(h.Registry().Add(native), &duplicate), true)
	}},
	{34, func(t *testing.T) {
		m := mateclawHost(t, nil)
		h := m.Host()
		native := registry.MustFunc("native", "A tool of the program", func(context.Context, struct{}) (string, error) { return "done", nil })
		if err := h.Registry().Add(native); err != nil {
			t.Fatal(err)
		}
		equal(t, "before", names(h.Registry()), "native")
		if _, err := m.Add(patience(t), mateclawRecord(t, mateclawFilesystem)); err != nil {
			t.Fatal(err)
		}
		equal(t, "after", names(h.Registry()), mateclawTools+" native")
	}},
	{47, func(t *testing.T) {
		r := registry.New(&registry.Options{Results: &result.Options{MaxBytes: 8000}})
		long := strings.Repeat("0123456789", 2000)
		if err := r.Add(registry.MustFunc("long", "", func(context.Context, struct{}) (string, error) { return long, nil })); err != nil {
			t.Fatal(err)
		}
		res, err := r.Call(patience(t), "long", nil)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "cut to the limit", len(result.Text(res)) <= 8000, true)
		contains(t, "how to read on", result.Text(res), "read_result")
		contains(t, "the tool for that", names(r), "read_result")
	}},
	{48, func(t *testing.T) {
		tool, err := registry.With(registry.MustFunc("direct", "", func(context.Context, struct{}) (string, error) { return "for the user", nil }),
			func(d *registry.Definition) { d.ReturnDirect = true })
		if err != nil {
			t.Fatal(err)
		}
		r := registry.New(nil)
		if err := r.Add(tool); err != nil {
			t.Fatal(err)
		}
		listed, _ := r.Snapshot().Lookup("direct")
		equal(t, "it is marked", listed.Definition().ReturnDirect, true)
		contains(t, "what the model is told", result.Withheld, "The result was shown to the user")
	}},
	{56, func(t *testing.T) {
		secure := httptest.NewUnstartedServer(http.NotFoundHandler())
		secure.Config.ErrorLog = log.New(io.Discard, "", 0)
		secure.StartTLS()
		t.Cleanup(secure.Close)
		m := mateclawHost(t, nil)
		h := m.Host()
		for request, want := range map[string]doctor.HintCode{
			`{"name":"a","command":"no-such-npx"}`:            doctor.HintCommandNotFound,
			`{"name":"a","url":"` + secure.URL + `/mcp"}`:     doctor.HintTLS,
			`{"name":"a","url":"http://127.0.0.1:1/mcp"}`:     doctor.HintConnectionRefused,
			`{"name":"a","command":"npx","args":["unknown"]}`: doctor.HintExited,
		} {
			entry, err := record.ReadServer(patience(t), record.NewMemoryStore(mateclawRecord(t, request)), "a", nil)
			if err != nil {
				t.Fatal(err)
			}
			report, err := doctor.Test(patience(t), h, entry, nil)
			if err != nil {
				t.Fatal(err)
			}
			contains(t, request, encode(t, report.Hints), string(want))
		}
	}},
	{57, func(t *testing.T) {
		deny := allowing(t, policy.Rule{Verdict: approval.Deny, User: "agent-2", Server: "filesystem"})
		m := mateclawHost(t, &host.Options{Registry: registry.New(&registry.Options{Approver: deny})}, mateclawFilesystem)
		h := m.Host()
		equal(t, "what one agent may call", len(h.Registry().Callable(session.WithUser(patience(t), "agent-1"))), 5)
		equal(t, "what another may", len(h.Registry().Callable(session.WithUser(patience(t), "agent-2"))), 0)
	}},
}
