// Examples of package host.

package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/auth/authtest"
	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/login"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
	"github.com/mcpbelt/mcpbelt/registry/policy"
	"github.com/mcpbelt/mcpbelt/registry/result"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
)

// exampleFile writes a config file, and exampleOptions make its server run in
// this process, so that the examples need no program.
func exampleFile() (path string, remove func()) {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	path = filepath.Join(dir, "mcp.json")
	if err := os.WriteFile(path, []byte(`{"mcpServers": {"notes": {"command": "notes-server"}}}`), 0o600); err != nil {
		panic(err)
	}
	return path, func() { _ = os.RemoveAll(dir) }
}

func exampleOptions() *host.Options {
	type note struct {
		Text string `json:"text"`
	}
	return &host.Options{Transport: func(session.Key, *config.Server) (mcp.Transport, error) {
		s := sdk.NewServer(&sdk.Implementation{Name: "notes"}, nil)
		sdk.AddTool(s, &sdk.Tool{Name: "create"}, func(_ context.Context, _ *sdk.CallToolRequest, in note) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "kept: " + in.Text}}}, nil, nil
		})
		return &transport.Pipe{Serve: s.Run}, nil
	}}
}

func ExampleOpen() {
	path, remove := exampleFile()
	defer remove()
	ctx := context.Background()

	h, err := host.Open(ctx, path, exampleOptions())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = h.Close() }()

	add := func(_ context.Context, in struct{ A, B int }) (int, error) { return in.A + in.B, nil }
	if err := h.Registry().Add(registry.MustFunc("add", "Add two numbers", add)); err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range h.Registry().Snapshot().Tools() {
		fmt.Println(t.Definition().Name)
	}
	res, err := h.Registry().Call(ctx, "notes__create", json.RawMessage(`{"text":"hi"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Content[0].(*mcp.TextContent).Text)
	// Output:
	// add
	// notes__create
	// kept: hi
}

// A host whose calls are approved, and whose tools stay what they were.
func ExampleOptions() {
	path, remove := exampleFile()
	defer remove()
	ctx := context.Background()

	accepted, err := ledger.Open(filepath.Join(filepath.Dir(path), "mcp.lock.json"), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	opts := exampleOptions()
	opts.Registry = registry.New(&registry.Options{
		Ledger:   accepted,
		Approver: policy.Cautious(),
		Results:  &result.Options{MaxBytes: 16 << 10},
	})
	h, err := host.Open(ctx, path, opts)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = h.Close() }()

	_, err = h.Registry().Call(ctx, "notes__create", json.RawMessage(`{"text":"hi"}`))
	var asked *registry.ApprovalRequiredError
	if !errors.As(err, &asked) {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s %s: %s\n", asked.Request.Tool.DisplayName(), asked.Request.Args, asked.Request.Reason)
	res, err := h.Registry().Approve(ctx, asked.Request.ID, nil) // a person said yes
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Text(res))
	// Output:
	// notes:create (MCP) {"text":"hi"}: its server is not trusted
	// kept: hi
}

func ExampleHost_Servers() {
	h := exampleApply(exampleOptions(), `{"command": "notes-server"}`)
	defer h.Close()
	for _, s := range h.Servers() {
		fmt.Println(s.Name, s.State.Phase, s.Tools, s.Err)
	}
	// Output: notes ready 1 <nil>
}

func ExampleHost_Apply() {
	ctx := context.Background()
	h := exampleApply(exampleOptions(), `{"command": "notes-server"}`)
	defer h.Close()

	c, err := config.Parse(ctx, "new.json", []byte(`{"mcpServers": {"diary": {"command": "diary-server"}}}`), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := h.Apply(ctx, c)
	fmt.Println(report.Started, report.Stopped, err)
	// Output: [diary] [notes] <nil>
}

// Servers need no config file, and a transport of the program's own is named by the scheme of
// the URL. In a file such an entry is {"url": "notes://home"}, if Transports of
// [config.Options] has the word "notes".
func ExampleHost_Apply_withoutFile() {
	ctx := context.Background()
	h := host.New(exampleOptions()) // whose Transport makes the connections
	defer func() { _ = h.Close() }()
	report, err := h.Apply(ctx, &config.Config{Servers: []*config.Server{{Name: "notes", URL: "notes://home"}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := h.Registry().Call(ctx, "notes__create", json.RawMessage(`{"text": "milk"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Started, res.Text())
	// Output: [notes] kept: milk
}

func ExampleHost_Disable() {
	ctx := context.Background()
	h := exampleApply(exampleOptions(), `{"command": "notes-server"}`)
	defer h.Close()
	err := h.Disable(ctx, "notes")
	fmt.Println(len(h.Registry().Snapshot().Tools()), err)
	err = h.Enable(ctx, "notes")
	fmt.Println(len(h.Registry().Snapshot().Tools()), err)
	// Output:
	// 0 <nil>
	// 1 <nil>
}

func ExampleHost_Watch() {
	ctx := context.Background()
	h := exampleApply(exampleOptions(), `{"command": "notes-server"}`)
	defer h.Close()
	for servers := range h.Watch(ctx) {
		fmt.Println(servers[0].Name, servers[0].State.Phase)
		break // or go on, and see every later change
	}
	// Output: notes ready
}

func ExampleHost_Shutdown() {
	h := host.New(nil)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	fmt.Println(h.Shutdown(ctx))
	// Output: <nil>
}

// A program that keeps the entries of its servers itself applies one of them, and the
// others go on.
func ExampleHost_ApplyServers() {
	ctx := context.Background()
	h := host.New(fakes(&host.Options{}))
	defer h.Close()
	report, err := h.ApplyServers(ctx, "add", "notes", func(ctx context.Context) (map[string]*config.Server, error) {
		c, err := config.Parse(ctx, "mcp.json", []byte(`{"mcpServers": {"notes": {"command": "notes"}}}`), nil)
		if err != nil {
			return nil, err
		}
		return map[string]*config.Server{"notes": c.Servers[0]}, nil
	})
	fmt.Println(report.Started, err)
	fmt.Println(names(h))
	// Output:
	// [notes] <nil>
	// notes__echo
}

// A host that follows where its servers are listed. For files there is [host.FileChanges].
func ExampleHost_Follow() {
	ctx, cancel := context.WithCancel(context.Background())
	h := host.New(exampleOptions())
	defer func() { _ = h.Close() }()

	table := []string{
		`{"mcpServers": {"notes": {"command": "notes-server"}}}`,
		`{"mcpServers": {"notes": {"command`, // a person is writing
		`{"mcpServers": {"diary": {"command": "diary-server"}}}`,
	}
	row := -1
	changes := func(ctx context.Context) iter.Seq[[]string] {
		return func(yield func([]string) bool) {
			for row++; row < len(table) && ctx.Err() == nil && yield([]string{"table"}); row++ {
			}
		}
	}
	load := func(context.Context) (*config.Config, error) {
		return config.Parse(ctx, "table", []byte(table[row]), nil)
	}
	err := h.Follow(ctx, changes, load, func(r host.Report, err error) {
		fmt.Println(r.Started, r.Stopped, err != nil)
	})
	fmt.Println(err)
	cancel()
	// Output:
	// [notes] [] false
	// [] [] true
	// [diary] [notes] false
	// <nil>
}

func ExampleFileChanges() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "mcp.json")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			fmt.Println(err)
		}
	}
	write(`{"mcpServers": {"notes": {"command": "notes-server"}}}`)
	ctx, cancel := context.WithCancel(context.Background())
	h := host.New(exampleOptions())
	defer func() { _ = h.Close() }()

	load := func(ctx context.Context) (*config.Config, error) { return config.Load(ctx, path, nil) }
	err = h.Follow(ctx, host.FileChanges(path), load, func(r host.Report, err error) {
		fmt.Println(r.Started, r.Stopped, err)
		if len(r.Stopped) > 0 {
			cancel()
			return
		}
		write(`{"mcpServers": {"diary": {"command": "diary-server"}}}`)
	})
	fmt.Println(err)
}

// exampleLogins runs a server that wants a login, and a host that can log in.
func exampleLogins() (h *host.Host, as *authtest.Server, end func()) {
	as, err := authtest.New(nil)
	if err != nil {
		panic(err)
	}
	logins, err := login.New(session.Memory(), &login.Options{
		Session: session.Options{RedirectURL: "http://127.0.0.1:1/callback"},
	})
	if err != nil {
		panic(err)
	}
	h = exampleApply(&host.Options{Logins: logins, StateDir: host.NoState}, fmt.Sprintf(`{"url": %q}`, as.NewMCP(nil).URL))
	return h, as, func() { _ = h.Close(); _ = logins.Close(); as.Close() }
}

// exampleApply returns a host that runs the server "notes" of this entry.
func exampleApply(opts *host.Options, entry string) *host.Host {
	h := host.New(opts)
	c, err := config.Parse(context.Background(), "mcp.json", []byte(`{"mcpServers": {"notes": `+entry+`}}`), nil)
	if err == nil {
		_, err = h.Apply(context.Background(), c)
	}
	if err != nil {
		panic(err)
	}
	return h
}

// A user is sent to log in, and comes back.
func ExampleHost_Login() {
	ctx := context.Background()
	h, as, end := exampleLogins()
	defer end()

	login, err := h.Login(ctx, session.Key{Server: "notes"})
	if err != nil {
		fmt.Println(err)
		return
	}
	callback, err := as.Approve(ctx, login.URL) // the user, in a browser
	if err != nil {
		fmt.Println(err)
		return
	}
	key, err := h.Complete(ctx, callback, nil)
	fmt.Println(key, err)
	for range h.Watch(ctx) {
		if h.Servers()[0].Stage == host.StageReady {
			break
		}
	}
	fmt.Println(len(h.Registry().Snapshot().Tools()), "tools")
	// Output:
	// server "notes" <nil>
	// 2 tools
}

// A program on a server has a page that browsers come back to.
func ExampleHost_Complete() {
	ctx := context.Background()
	h, as, end := exampleLogins()
	defer end()
	page := func(w http.ResponseWriter, r *http.Request) {
		key, err := h.Complete(r.Context(), r.URL.String(), nil)
		if err != nil {
			http.Error(w, "The login has failed.", http.StatusBadRequest)
			return
		}
		fmt.Fprintf(w, "You are logged in at %s.", key.Server)
	}

	login, err := h.Login(ctx, session.Key{Server: "notes"})
	if err != nil {
		fmt.Println(err)
		return
	}
	callback, err := as.Approve(ctx, login.URL) // the user, in a browser
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 { // a login can be completed once
		w := httptest.NewRecorder()
		page(w, httptest.NewRequest(http.MethodGet, callback, nil))
		fmt.Println(w.Body)
	}
	// Output:
	// You are logged in at notes.
	// The login has failed.
}

func ExampleHost_Logout() {
	ctx := context.Background()
	h, _, end := exampleLogins()
	defer end()
	fmt.Println(h.Logout(ctx, session.Key{Server: "notes"}))
	// Output: <nil>
}

// notesOptions make "notes-server" a server in this process.
func notesOptions() *host.Options {
	return &host.Options{
		StateDir: host.NoState,
		Transport: func(_ session.Key, e *config.Server) (mcp.Transport, error) {
			if e.Command != "notes-server" {
				return nil, nil
			}
			s := sdk.NewServer(&sdk.Implementation{Name: "notes", Version: "1.0"}, nil)
			s.AddTool(&sdk.Tool{Name: "create", InputSchema: map[string]any{"type": "object"}}, nil)
			return &transport.Pipe{Serve: s.Run}, nil
		},
	}
}

// The tools of a server that is not in the configuration.
func ExampleHost_Try() {
	ctx := context.Background()
	h := host.New(notesOptions())
	defer func() { _ = h.Close() }()
	c, err := config.Parse(ctx, "new.json", []byte(`{"mcpServers": {"new": {"command": "notes-server"}}}`), nil)
	if err != nil {
		log.Print(err)
		return
	}
	entry := c.Servers[0]
	err = h.Try(ctx, entry, nil, func(ctx context.Context, t mcp.Transport, opts *mcp.ClientOptions) error {
		client := mcp.NewClient(entry.Name, t, opts)
		defer func() { _ = client.Close() }()
		tools, err := client.Tools(ctx)
		for _, tool := range tools {
			fmt.Println(tool.Name)
		}
		return err
	})
	if err != nil {
		log.Print(err)
	}
	// Output: create
}

// What completion at a shell knows of a server without starting it.
func ExampleCachedTools() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "state")
	if err != nil {
		log.Print(err)
		return
	}
	defer os.RemoveAll(dir)
	opts := notesOptions()
	opts.StateDir = dir
	h := host.New(opts)
	c, err := config.Parse(ctx, "mcp.json", []byte(`{"mcpServers": {"notes": {"command": "notes-server"}}}`), nil)
	if err == nil {
		_, err = h.Apply(ctx, c)
	}
	if err := errors.Join(err, h.Close()); err != nil {
		log.Print(err)
		return
	}
	tools, known := host.CachedTools(dir, c.Servers[0])
	fmt.Println(known, tools[0].Name)
	// Output: true create
}

func ExampleHost_Inspect() {
	h := exampleApply(notesOptions(), `{"command": "notes-server"}`)
	defer h.Close()
	notes, err := h.Inspect("notes")
	if err != nil {
		log.Print(err)
		return
	}
	fmt.Println(notes.Entry.Command, notes.Client.State().Phase, notes.Calls.Total.Ended(), notes.LastFailure.Err)
	// Output: notes-server ready 0 <nil>
}
