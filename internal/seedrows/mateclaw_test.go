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
	"testing/synctest"
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
	mateclawFilesystem = `{"name": "filesystem", "description": "File system read/write tools", "transport": "stdio", "command": "npx",
		"argsJson": "[\"-y\", \"@anthropic/mcp-filesystem\", \"/home/user/workspace\"]", "enabled": true}`
	mateclawRemote = `{"name": "remote-tools", "description": "Remote tool service", "transport": "streamable_http", "url": "https://mcp.example.com/mcp",
		"headersJson": "{\"Authorization\": \"Bearer your-api-key\"}", "connectTimeoutSeconds": 15, "readTimeoutSeconds": 60, "enabled": true}`
	mateclawInternal = `{"name": "internal-data-service", "description": "Internal enterprise data query MCP service", "transport": "streamable_http",
		"url": "https://mcp-api.internal.example.com/mcp",
		"headersJson": "{\"Authorization\": \"Bearer sk-your-api-key\", \"X-Team-Id\": \"engineering\"}", "connectTimeoutSeconds": 10,
		"readTimeoutSeconds": 120, "enabled": true}`
	mateclawTavily = `{"name": "tavily-search", "description": "Tavily real-time web search", "transport": "stdio", "command": "npx",
		"argsJson": "[\"-y\", \"@anthropic/mcp-tavily\"]", "envJson": "{\"TAVILY_API_KEY\": \"${TAVILY_API_KEY}\"}", "enabled": true}`
	mateclawLegacy = `{"name": "legacy-mcp-server", "description": "Legacy SSE transport MCP server", "transport": "sse", "url": "http://192.168.1.100:3001/sse",
		"enabled": true}`
	mateclawUpdate = `{"description": "Updated description", "readTimeoutSeconds": 60}`
	mateclawTools  = "filesystem__get_file_info filesystem__list_directory filesystem__read_file filesystem__search_files filesystem__write_file"
)

// mateclawRecord reads a request. A door that speaks MateClaw's REST has to do the same:
// maps and lists come as texts.
func mateclawRecord(t *testing.T, request string) *config.Server {
	t.Helper()
	members := decode[map[string]json.RawMessage](t, request)
	for _, key := range []string{"args", "env", "headers"} {
		if text := members[key+"Json"]; text != nil {
			members[key] = json.RawMessage(decode[string](t, string(text)))
			delete(members, key+"Json")
		}
	}
	p := decode[record.Patch](t, encode(t, members))
	return &p.Values
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
			assert.Equal(t, string(s.Stage)+" over "+s.Transport, "ready over "+want, "%s", name)
		}
		assert.Equal(t, call(t, h, "remote-tools__Authorization", `{}`), "Bearer your-api-key{}", "the header")
	}},
	{7, func(t *testing.T) {
		r := mateclawRecord(t, mateclawFilesystem)
		assert.Equal(t, strings.Join(append([]string{r.Title, r.Description, r.Transport, r.Command}, r.Args...), "|"), "filesystem|File system read/write tools|stdio|npx|-y|@anthropic/mcp-filesystem|/home/user/workspace", "the record")
		for name, ok := range map[string]bool{"My server_1-a.b": true, strings.Repeat("a", 128): true, strings.Repeat("a", 129): false, "a/b": false, "": false} {
			assert.Equal(t, record.Validate(&config.Server{Name: name, Command: "npx"}) == nil, ok, "the name %s", name)
		}
		assert.False(t, mateclawRecord(t, `{"name":"a","command":"npx"}`).Disabled, "enabled by default")
		store := record.NewMemoryStore(&config.Server{Name: "own", Command: "npx", Builtin: true, Disabled: true})
		m := manage.New(openStore(t, store, nil), store, nil)
		_, err := m.Remove(patience(t), "own")
		assert.True(t, errors.Is(err, &record.Error{Code: record.CodeBuiltinReadOnly}), "a builtin server is not deleted")
		t.Run("id, times and logical delete", func(t *testing.T) {
			m := mateclawHost(t, nil, strings.Replace(mateclawFilesystem, `"enabled": true`, `"enabled": false`, 1))
			shown := func() manage.Server {
				all := assert.Value(m.Servers(patience(t)))(t)
				assert.Equal(t, len(all), 1)
				return all[0]
			}
			before := shown()
			assert.Equal(t, [...]bool{before.ID == "", before.Created.IsZero(), before.Updated.IsZero()}, [...]bool{false, false, false})
			assert.Value(m.Update(patience(t), before.ID, mateclawPatch(t, `{"name":"files"}`)))(t)
			assert.Equal(t, shown().Record.Title+" "+shown().ID, "files "+before.ID, "the id of a server with another name")
			assert.Value(m.Remove(patience(t), before.ID))(t)
			assert.Value(m.Restore(patience(t), before.ID))(t)
			assert.Equal(t, shown().ID, before.ID, "the id after the deletion was undone")
		})
	}},
	{11, func(t *testing.T) {
		m := mateclawHost(t, nil, mateclawTavily)
		h := m.Host()
		assert.Equal(t, call(t, h, "tavily-search__TAVILY_API_KEY", ``), "tvly-made-up{}", "the variable")
		at := remote(t, "Authorization").URL
		request := strings.NewReplacer("https://mcp.example.com", at, "Bearer your-api-key", "Bearer ${MCP_API_KEY}").Replace(mateclawRemote)
		assert.Equal(t, call(t, mateclawHost(t, nil, request).Host(), "remote-tools__Authorization", ``), "Bearer made-up-key{}", "the header")
		// $VAR is read in its fields as they are written there.
		c := assert.Value(config.Parse(t.Context(), "mcp.json", []byte(`{"mcpServers":{"s":{"command":"npx","argsJson":"[\"-y\",\"$X\"]",
			"envJson":"{\"K\":\"$MCP_API_KEY ${MCP_API_KEY_ID} $MCP_API_KEY_ID\"}"},"r":{"url":"https://a.example","headersJson":"{\"Authorization\":\"Bearer $MCP_API_KEY\"}"}}}`), nil))(t)
		assert.Equal(t, c.Servers[0].Env["K"].Reveal(), "made-up-key another another", "variables of similar names")
		assert.Equal(t, strings.Join(c.Servers[0].Args, " "), "-y $X", "arguments")
		assert.Equal(t, c.Servers[1].Headers["Authorization"].Reveal(), "Bearer made-up-key", "a header")
	}},
	{13, func(t *testing.T) {
		assert.Equal(t, mask.String("sk-0123456789abcd"), "****abcd", "the form of masks")
		r := mateclawRecord(t, strings.ReplaceAll(mateclawInternal, "https://mcp-api.internal.example.com", "http://127.0.0.1:1"))
		shown := encode(t, r)
		assert.False(t, strings.Contains(shown, "sk-your-api-key"), "the key is shown in %s", shown)
		echo := decode[record.Patch](t, encode(t, map[string]any{"headers": decode[map[string]json.RawMessage](t, shown)["headers"]}))
		kept := assert.Value(echo.Apply(r))(t)
		assert.Equal(t, kept.Headers["Authorization"].Reveal(), "Bearer sk-your-api-key", "a masked value that comes back")
		assert.Contains(t, encode(t, mateclawRecord(t, mateclawFilesystem)), `"args":["-y","@anthropic/mcp-filesystem","/home/user/workspace"]`, "arguments as they are")
	}},
	{14, func(t *testing.T) {
		before := mateclawRecord(t, mateclawRemote)
		after := assert.Value(mateclawPatch(t, mateclawUpdate).Apply(before))(t)
		assert.Equal(t, after.Description, "Updated description", "description")
		assert.Equal(t, after.ReadTimeout, 60*time.Second, "read timeout")
		assert.Equal(t, after.URL+after.ConnectTimeout.String()+after.Headers["Authorization"].Reveal(), "https://mcp.example.com/mcp15sBearer your-api-key", "what is not passed")
		cleared := assert.Value(mateclawPatch(t, `{"description": ""}`).Apply(before))(t)
		assert.Equal(t, cleared.Description, "", "what is passed empty")
	}},
	{15, func(t *testing.T) {
		r := mateclawRecord(t, mateclawInternal)
		assert.Equal(t, r.ConnectTimeout.String()+" "+r.ReadTimeout.String(), "10s 2m0s", "the limits")
		synctest.Test(t, func(t *testing.T) {
			hung := script(t, mcptest.Script{"tools/list": tools(plain("look")), "tools/call": mcptest.Hang})
			h := mateclawHost(t, fakes(fakeServers{"slow": hung}), `{"name":"slow","command":"x","readTimeoutSeconds":5}`).Host()
			_, err := h.Registry().Call(patience(t), "slow__look", nil)
			assert.As[*mcp.TimeoutError](t, err, "a call that takes too long")
		})
	}},
	{16, func(t *testing.T) {
		m := mateclawHost(t, nil, mateclawFilesystem)
		h := m.Host()
		before := status(t, h, "filesystem").State
		entry := assert.Value(record.ReadServer(patience(t), record.NewMemoryStore(mateclawRecord(t, mateclawFilesystem)), "filesystem", nil))(t)
		report := assert.Value(doctor.Test(patience(t), h, entry))(t)
		assert.True(t, report.Success, "success")
		var found []string
		for _, tool := range report.Tools {
			found = append(found, tool.Name)
		}
		for _, want := range []string{"read_file", "write_file", "list_directory", "search_files", "get_file_info"} {
			assert.Contains(t, strings.Join(found, " "), want, "discovered tools")
		}
		assert.True(t, report.TookSeconds > 0, "the latency is told")
		after := status(t, h, "filesystem").State
		assert.Equal(t, after.PID, before.PID, "the live process")
		assert.Equal(t, after.Connections, before.Connections, "its connections")
	}},
	{17, func(t *testing.T) {
		m := mateclawHost(t, nil, mateclawFilesystem)
		h := m.Host()
		before := status(t, h, "filesystem").State.PID
		report := assert.Value(m.Update(patience(t), "filesystem", mateclawPatch(t, `{"args":["-y","@anthropic/mcp-filesystem","/elsewhere"]}`)))(t)
		assert.Equal(t, strings.Join(report.Replaced, " "), "filesystem", "replaced")
		now := status(t, h, "filesystem").State.PID
		assert.False(t, now == before, "the same process")
		report = assert.Value(m.Update(patience(t), "filesystem", mateclawPatch(t, `{"command":"/no/such/program"}`)))(t)
		assert.True(t, report.Failed["filesystem"] != nil, "the failure is told")
		assert.Equal(t, status(t, h, "filesystem").State.PID, now, "the old client")
		assert.Equal(t, call(t, h, "filesystem__read_file", `{}`), `{}`, "its tools")
		t.Run("and says so", func(t *testing.T) {
			health := assert.Value(doctor.HealthOf(h, "filesystem"))(t)
			assert.False(t, health.Level == doctor.LevelHealthy, "healthy")
			assert.Equal(t, health.Action, "configure", "what helps")
			assert.Contains(t, encode(t, health), "/no/such/program", "the status says why")
		})
	}},
	{18, func(t *testing.T) {
		m := mateclawHost(t, nil, mateclawFilesystem, mateclawTavily)
		h := m.Host()
		before := status(t, h, "filesystem").State.PID
		assert.OK(t, h.Restart(patience(t), "filesystem"))
		assert.False(t, status(t, h, "filesystem").State.PID == before, "the process after a restart is the old one")
		other := status(t, h, "tavily-search").State.PID
		assert.OK(t, h.Refresh(patience(t)))
		assert.False(t, status(t, h, "tavily-search").State.PID == other, "the process after refreshing all is the old one")
		assert.Equal(t, names(h.Registry()), mateclawTools+" tavily-search__PARENT_SECRET tavily-search__TAVILY_API_KEY", "tools")
	}},
	{19, func(t *testing.T) {
		broken := mateclawRecord(t, strings.ReplaceAll(mateclawRemote, "https://mcp.example.com", "http://127.0.0.1:1"))
		h := openStore(t, record.NewMemoryStore(broken, mateclawRecord(t, mateclawFilesystem)), nil)
		assert.Equal(t, status(t, h, "filesystem").Stage, host.StageReady, "one that works")
		assert.Equal(t, status(t, h, "remote-tools").Stage, host.StageWaiting, "one that fails")
		assert.True(t, status(t, h, "remote-tools").Err != nil, "the failure is told")
	}},
	{20, func(t *testing.T) {
		statuses := record.OpenStatusFile(filepath.Join(t.TempDir(), "status.json"))
		store := record.NewMemoryStore(mateclawRecord(t, mateclawFilesystem), mateclawRecord(t, `{"name":"broken","command":"/no/such/program"}`))
		m := manage.New(openStore(t, store, nil), store, &manage.Options{Statuses: statuses})
		assert.OK(t, m.Close())
		kept := assert.Value(statuses.Statuses(patience(t)))(t)
		assert.Equal(t, kept["filesystem"].Tools, 5, "tool_count")
		assert.Equal(t, kept["filesystem"].Error, "", "last_error of success")
		assert.False(t, kept["filesystem"].Connected.IsZero(), "last_connected_time is there")
		assert.Equal(t, kept["broken"].Status, record.StatusError, "last_status of failure")
		assert.Contains(t, kept["broken"].Error, "/no/such/program", "last_error of failure")
		t.Run("of a server that cannot list", func(t *testing.T) {
			statuses := record.OpenStatusFile(filepath.Join(t.TempDir(), "status.json"))
			opts := fakes(fakeServers{"s": script(t, mcptest.Script{"tools/list": mcptest.Error(-32603, "the index is locked")})})
			opts.OpenWait = time.Millisecond
			store := record.NewMemoryStore(&config.Server{Name: "s", Command: "x"})
			m := manage.New(openStore(t, store, opts), store, &manage.Options{Statuses: statuses})
			until(t, m.Host(), "s", func(s host.Status) bool { return s.Stage == host.StageWaiting && s.Err != nil })
			assert.OK(t, m.Close())
			kept := assert.Value(statuses.Statuses(patience(t)))(t)
			assert.Contains(t, kept["s"].Error, "the index is locked", "last_error")
		})
	}},
	{23, func(t *testing.T) {
		for how, end := range map[string]func(m *manage.Manager) error{
			"disabled": func(m *manage.Manager) error { return m.Host().Disable(patience(t), "filesystem") },
			"deleted":  func(m *manage.Manager) error { _, err := m.Remove(patience(t), "filesystem"); return err },
			"replaced": func(m *manage.Manager) error { return m.Host().Restart(patience(t), "filesystem") },
			"shutdown": func(m *manage.Manager) error { return m.Close() },
		} {
			l := assert.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
			m := mateclawHost(t, nil, strings.Replace(mateclawFilesystem, `"enabled"`, `"envJson": "{\"LIFELINE\": \"`+l.Addr().String()+`\"}", "enabled"`, 1))
			process, err := l.Accept()
			assert.OK(t, err)
			assert.OK(t, end(m))
			_ = process.SetDeadline(time.Now().Add(time.Minute)) // of a test that hangs
			_, err = process.Read(make([]byte, 1))
			assert.True(t, errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET), "%s: %v of the process, which has ended", how, err)
			_, _ = process.Close(), l.Close()
		}
	}},
	{24, func(t *testing.T) {
		opts := fakes(fakeServers{"hung": mcptest.NewServer(t, mcptest.Script{"server/discover": mcptest.Hang, "initialize": mcptest.Hang})})
		opts.OpenWait = time.Millisecond
		store := record.NewMemoryStore(&config.Server{Name: "hung", Command: "x"}, mateclawRecord(t, mateclawFilesystem))
		h := openStore(t, store, opts)
		m := manage.New(h, store, nil)
		assert.Value(m.Update(patience(t), "filesystem", mateclawPatch(t, mateclawUpdate)))(t)
		assert.Equal(t, status(t, h, "hung").Stage, host.StageStarting, "another server is worked on meanwhile")
	}},
	{33, func(t *testing.T) {
		opts := &host.Options{Registry: registry.New(&registry.Options{Names: regnames.BareTool})}
		m := mateclawHost(t, opts, mateclawFilesystem, strings.Replace(mateclawFilesystem, `"filesystem"`, `"second"`, 1))
		h := m.Host()
		all := strings.Fields(names(h.Registry()))
		assert.Equal(t, len(slices.Compact(all)), 5, "two servers with the same tools: names")
		rejected := append(status(t, h, "filesystem").Rejected, status(t, h, "second").Rejected...)
		assert.Equal(t, len(rejected), 5, "names that are taken")
		for _, r := range rejected {
			assert.As[*registry.DuplicateError](t, r.Err, "a name that is taken is refused with the reason")
		}
		native := registry.MustFunc("read_file", "", func(context.Context, struct{}) (string, error) { return "", nil })
		assert.As[*registry.DuplicateError](t, h.Registry().Add(native), "a name that is taken is refused")
	}},
	{34, func(t *testing.T) {
		m := mateclawHost(t, nil)
		h := m.Host()
		native := registry.MustFunc("native", "A tool of the program", func(context.Context, struct{}) (string, error) { return "done", nil })
		assert.OK(t, h.Registry().Add(native))
		assert.Equal(t, names(h.Registry()), "native", "before")
		assert.Value(m.Add(patience(t), mateclawRecord(t, mateclawFilesystem)))(t)
		assert.Equal(t, names(h.Registry()), mateclawTools+" native", "after")
	}},
	{47, func(t *testing.T) {
		r := registry.New(&registry.Options{Results: &result.Options{MaxBytes: 8000}})
		long := strings.Repeat("0123456789", 2000)
		assert.OK(t, r.Add(registry.MustFunc("long", "", func(context.Context, struct{}) (string, error) { return long, nil })))
		res := assert.Value(r.Call(patience(t), "long", nil))(t)
		assert.True(t, len(result.Text(res)) <= 8000, "cut to the limit")
		assert.Contains(t, result.Text(res), "read_result", "how to read on")
		assert.Contains(t, names(r), "read_result", "the tool for that")
	}},
	{48, func(t *testing.T) {
		tool := assert.Value(registry.With(registry.MustFunc("direct", "", func(context.Context, struct{}) (string, error) { return "for the user", nil }),
			func(d *registry.Definition) { d.ReturnDirect = true }))(t)
		r := registry.New(nil)
		assert.OK(t, r.Add(tool))
		listed, _ := r.Snapshot().Lookup("direct")
		assert.True(t, listed.Definition().ReturnDirect, "it is marked")
		assert.Contains(t, result.Withheld, "The result was shown to the user", "what the model is told")
	}},
	{56, func(t *testing.T) {
		secure := httptest.NewUnstartedServer(http.NotFoundHandler())
		secure.Config.ErrorLog = log.New(io.Discard, "", 0)
		secure.StartTLS()
		t.Cleanup(secure.Close)
		m := mateclawHost(t, nil)
		h := m.Host()
		for request, want := range map[string]string{
			`{"name":"a","command":"no-such-npx"}`:            "command_not_found",
			`{"name":"a","url":"` + secure.URL + `/mcp"}`:     "tls",
			`{"name":"a","url":"http://127.0.0.1:1/mcp"}`:     "connection_refused",
			`{"name":"a","command":"npx","args":["unknown"]}`: "exited",
		} {
			entry := assert.Value(record.ReadServer(patience(t), record.NewMemoryStore(mateclawRecord(t, request)), "a", nil))(t)
			report := assert.Value(doctor.Test(patience(t), h, entry))(t)
			assert.Contains(t, encode(t, report.Hints), want, "%s", request)
		}
	}},
	{57, func(t *testing.T) {
		deny := allowing(t, policy.Rule{Verdict: approval.Deny, User: "agent-2", Server: "filesystem"})
		m := mateclawHost(t, &host.Options{Registry: registry.New(&registry.Options{Approver: deny})}, mateclawFilesystem)
		h := m.Host()
		assert.Equal(t, len(h.Registry().Callable(session.WithUser(patience(t), "agent-1"))), 5, "what one agent may call")
		assert.Equal(t, len(h.Registry().Callable(session.WithUser(patience(t), "agent-2"))), 0, "what another may")
	}},
}
