package seedrows

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/config/edit"
	"github.com/mcpbelt/mcpbelt/host/consent"
	"github.com/mcpbelt/mcpbelt/host/content"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	regnames "github.com/mcpbelt/mcpbelt/registry/names"
	"github.com/mcpbelt/mcpbelt/registry/policy"
	"github.com/mcpbelt/mcpbelt/registry/result"
)

// The server and the call of the document: kode mcp add myserver
// --command="python -m my_mcp_server", and myserver:calculate(expression: "2 + 2 * 10").
const (
	kodeServer    = `{"type": "stdio", "command": "python", "args": ["-m", "my_mcp_server"]}`
	kodeArguments = `{"expression":"2 + 2 * 10"}`
)

// A kodeFolder is a project of a user, with Kode's files.
type kodeFolder struct {
	*testing.T
	home, project string
}

func newKodeFolder(t *testing.T) *kodeFolder {
	t.Helper()
	dir := t.TempDir()
	k := &kodeFolder{t, filepath.Join(dir, "home"), filepath.Join(dir, "home", "app")}
	assert.OK(t, os.MkdirAll(k.project, 0o700))
	return k
}

func (k *kodeFolder) write(path, text string) {
	k.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		k.Fatal(err)
	}
}

// mcprc is the file of the project, global that of the user.
func (k *kodeFolder) mcprc() string  { return filepath.Join(k.project, ".mcprc") }
func (k *kodeFolder) global() string { return filepath.Join(k.home, ".kode.json") }

// load reads all of the user's files, for the project.
func (k *kodeFolder) load() *config.Config {
	k.Helper()
	none := func(string) (string, bool) { return "", false }
	configs, err := config.LoadAll(context.Background(), config.Find(&config.FindOptions{GOOS: "linux", Home: k.home, Project: k.project, Lookup: none}), nil)
	if err != nil {
		k.Fatal(err)
	}
	return config.Merge(configs...)
}

// args returns the arguments of the server that counts.
func (k *kodeFolder) args() string {
	k.Helper()
	c := k.load()
	if len(c.Servers) != 1 {
		k.Fatalf("got %d servers, want 1", len(c.Servers))
	}
	return strings.Join(c.Servers[0].Args, " ")
}

// host runs what was found.
func (k *kodeFolder) host(opts *host.Options) *host.Host {
	k.Helper()
	h := host.New(opts)
	k.Cleanup(func() {
		if err := h.Close(); err != nil {
			k.Errorf("got the error %v of Close, want none", err)
		}
	})
	k.apply(h)
	return h
}

func (k *kodeFolder) apply(h *host.Host) {
	k.Helper()
	if _, err := h.Apply(patience(k.T), k.load()); err != nil {
		k.Fatal(err)
	}
}

func TestKode(t *testing.T) { t.Parallel(); run(t, kode) }

var kode = []row{
	{1, func(t *testing.T) {
		h := open(t, "mcp.json", `{"mcpServers": {"myserver": `+kodeServer+`, "events": {"type": "sse", "url": "`+remote(t, "look").URL+`/sse"}}}`, nil)
		equal(t, "stdio", call(t, h, "myserver__calculate", kodeArguments), kodeArguments)
		equal(t, "sse", call(t, h, "events__look", `{}`), `{}`)
	}},
	{5, func(t *testing.T) {
		server := mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20251125, `{"prompts":{}}`), mcptest.Script{
			"prompts/list": mcptest.Result(`{"prompts":[{"name":"review","arguments":[{"name":"file"}]}]}`),
			"prompts/get":  mcptest.Result(`{"messages":[{"role":"user","content":{"type":"text","text":"Review it."}}]}`),
		})
		opts := fakes(fakeServers{"myserver": server})
		opts.Registry = registry.New(&registry.Options{Names: regnames.Names{Scheme: regnames.MCPServerTool}})
		h := open(t, "mcp.json", `{"mcpServers": {"myserver": {"command": "x"}}}`, opts)
		list := content.New(h).Prompts(patience(t), nil)
		if len(list.Items) != 1 {
			t.Fatalf("got %d prompts, want 1", len(list.Items))
		}
		prompt, err := content.New(h).GetPrompt(patience(t), list.Items[0].Name, map[string]string{"file": "a.go"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		contains(t, "prompt", encode(t, prompt.Messages), "Review it.")
		t.Run("named as tools are", func(t *testing.T) {
			equal(t, "name", list.Items[0].Name, "mcp__myserver__review")
		})
	}},
	{9, func(t *testing.T) {
		k := newKodeFolder(t)
		k.write(k.global(), `{"mcpServers": {"myserver": {"type": "stdio", "command": "python", "args": ["global"]}}}`)
		equal(t, "the last of three", k.args(), "global")
		k.write(k.mcprc(), `{"myserver": {"type": "stdio", "command": "python", "args": ["rc"]}}`)
		equal(t, "the second of three", k.args(), "rc")
		add := func(f *edit.File) error {
			return f.Add(&record.Record{Name: "other", Command: "python", Args: []string{"-m", "my_mcp_server"}})
		}
		for _, path := range []string{k.mcprc(), k.global()} {
			if err := edit.Change(patience(t), path, nil, add); err != nil {
				t.Fatal(err)
			}
		}
		equal(t, "servers after one was added in two scopes", len(k.load().Servers), 2)
		t.Run("of a project", func(t *testing.T) {
			k := newKodeFolder(t)
			k.write(k.mcprc(), `{"myserver": {"type": "stdio", "command": "python", "args": ["rc"]}}`)
			k.write(k.global(), `{"projects": {"`+k.project+`": {"mcpServers": {"myserver": {"type": "stdio", "command": "python", "args": ["project"]}}}}}`)
			equal(t, "the first of three", k.args(), "project")
			equal(t, "it needs approval", k.load().Servers[0].Source.Scope.NeedsApproval(), false)
			if err := edit.Change(patience(t), k.global(), &config.Options{Project: k.project, Scope: config.ScopeLocal}, add); err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(k.global())
			if err != nil {
				t.Fatal(err)
			}
			global := decode[struct {
				Projects map[string]struct{ MCPServers map[string]any }
			}](t, string(data))
			equal(t, "it was added to the section", global.Projects[k.project].MCPServers["other"] != nil, true)
		})
	}},
	{10, func(t *testing.T) {
		k := newKodeFolder(t)
		k.write(k.mcprc(), `{"myserver": `+kodeServer+`}`)
		book := consent.New()
		h := k.host(&host.Options{StateDir: host.NoState, Consents: book})
		equal(t, "pending", status(t, h, "myserver").Stage, host.StageNotAllowed)
		decideAll := func(decide func(fingerprint string) error) {
			t.Helper()
			pending := h.PendingLaunches()
			equal(t, "what waits", len(pending), 1)
			contains(t, "what is shown", pending[0].String(), "python -m my_mcp_server")
			if err := decide(pending[0].Fingerprint()); err != nil {
				t.Fatal(err)
			}
		}
		decideAll(func(f string) error { return h.AllowLaunch(patience(t), "ann", f) })
		until(t, h, "myserver", func(s host.Status) bool { return s.Stage == host.StageReady })
		equal(t, "approved", call(t, h, "myserver__calculate", kodeArguments), kodeArguments)
		k.write(k.mcprc(), `{"myserver": `+strings.Replace(kodeServer, `]}`, `], "env": {"A": "1"}}`, 1)+`}`)
		k.apply(h)
		equal(t, "another command is asked again", status(t, h, "myserver").Stage, host.StageNotAllowed)
		decideAll(func(f string) error { return h.DenyLaunch(patience(t), "ann", f) })
		equal(t, "rejected ones that wait", len(h.PendingLaunches()), 0)
		records, err := book.Records(patience(t))
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "decisions that are kept", len(records), 2)
	}},
	{19, func(t *testing.T) {
		h := open(t, "mcp.json", `{"mcpServers": {"broken": {"type": "stdio", "command": "/no/such/program"}, "myserver": `+kodeServer+`}}`, nil)
		equal(t, "a server beside one that fails", call(t, h, "myserver__calculate", kodeArguments), kodeArguments)
		equal(t, "the error is tracked", status(t, h, "broken").Err != nil, true)
	}},
	{32, func(t *testing.T) {
		opts := &host.Options{Registry: registry.New(&registry.Options{Names: regnames.Names{Scheme: regnames.MCPServerTool}})}
		h := open(t, "mcp.json", `{"mcpServers": {"myserver": `+kodeServer+`}}`, opts)
		equal(t, "name", names(h.Registry()), "mcp__myserver__calculate")
		equal(t, "shown", h.Registry().Snapshot().Tools()[0].Definition().DisplayName(), "myserver:calculate (MCP)")
		equal(t, "called as the document does", call(t, h, "myserver:calculate", kodeArguments), kodeArguments)
	}},
	{34, func(t *testing.T) {
		schema := `{"type":"object","properties":{"expression":{"type":"string"}},"additionalProperties":true}`
		server := script(t, mcptest.Script{"tools/list": tools(`{"name":"calculate","description":"Calculate it","inputSchema":`+schema+`}`, plain("bare"))})
		h := open(t, "mcp.json", `{"mcpServers": {"myserver": {"command": "x"}}}`, fakes(fakeServers{"myserver": server}))
		tool, _ := h.Registry().Snapshot().Lookup("myserver__calculate")
		equal(t, "description and schema", tool.Definition().Description+" "+string(tool.Definition().InputSchema), "Calculate it "+schema)
		bare, _ := h.Registry().Snapshot().Lookup("myserver__bare")
		equal(t, "no description", bare.Definition().Description, "")
	}},
	{43, func(t *testing.T) {
		no := false
		ask := allowing(t, policy.Rule{Verdict: approval.Ask, Native: &no})
		opts := &host.Options{Registry: registry.New(&registry.Options{Approver: ask})}
		h := open(t, "mcp.json", `{"mcpServers": {"myserver": `+kodeServer+`}}`, opts)
		for range 2 { // always
			_, err := h.Registry().Call(patience(t), "myserver__calculate", []byte(kodeArguments))
			var required *registry.ApprovalRequiredError
			if !errors.As(err, &required) {
				t.Fatalf("got the error %v, want that somebody has to be asked", err)
			}
			res, err := h.Registry().Approve(patience(t), required.Request.ID, nil)
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "answer", result.Text(res), kodeArguments)
		}
	}},
	{46, func(t *testing.T) {
		server := script(t, mcptest.Script{"tools/list": tools(plain("draw")), "tools/call": mcptest.Sequence(
			mcptest.Result(`{"content":[{"type":"text","text":"a"},{"type":"image","data":"AQID","mimeType":"image/png"}]}`),
			mcptest.Result(`{"content":[{"type":"text","text":"no pen"}],"isError":true}`))})
		h := open(t, "mcp.json", `{"mcpServers": {"myserver": {"command": "x"}}}`, fakes(fakeServers{"myserver": server}))
		res, err := h.Registry().Call(patience(t), "myserver__draw", nil)
		if err != nil {
			t.Fatal(err)
		}
		contains(t, "parts", encode(t, res.Content), `"data":"AQID"`)
		equal(t, "their number", len(res.Content), 2)
		res, err = h.Registry().Call(patience(t), "myserver__draw", nil)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "an error", res.IsError, true)
		contains(t, "its report", result.Text(res), "no pen")
	}},
}
