package seedrows

import (
	"context"
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
	assert.OK(k, os.WriteFile(path, []byte(text), 0o600))
}

// mcprc is the file of the project, global that of the user.
func (k *kodeFolder) mcprc() string  { return filepath.Join(k.project, ".mcprc") }
func (k *kodeFolder) global() string { return filepath.Join(k.home, ".kode.json") }

// load reads all of the user's files, for the project.
func (k *kodeFolder) load() *config.Config {
	k.Helper()
	none := func(string) (string, bool) { return "", false }
	configs := assert.Value(config.LoadAll(context.Background(), config.Find(&config.FindOptions{GOOS: "linux", Home: k.home, Project: k.project, Lookup: none}), nil))(k)
	return config.Merge(configs...)
}

// args returns the arguments of the server that counts.
func (k *kodeFolder) args() string {
	k.Helper()
	c := k.load()
	assert.Equal(k, len(c.Servers), 1)
	return strings.Join(c.Servers[0].Args, " ")
}

// host runs what was found.
func (k *kodeFolder) host(opts *host.Options) *host.Host {
	k.Helper()
	h := host.New(opts)
	k.Cleanup(func() { assert.OK(k, h.Close()) })
	k.apply(h)
	return h
}

func (k *kodeFolder) apply(h *host.Host) {
	k.Helper()
	assert.Value(h.Apply(patience(k.T), k.load()))(k)
}

func TestKode(t *testing.T) { t.Parallel(); run(t, kode) }

var kode = []row{
	{5, func(t *testing.T) {
		server := mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20251125, `{"prompts":{}}`), mcptest.Script{
			"prompts/list": mcptest.Result(`{"prompts":[{"name":"review","arguments":[{"name":"file"}]}]}`),
			"prompts/get":  mcptest.Result(`{"messages":[{"role":"user","content":{"type":"text","text":"Review it."}}]}`),
		})
		opts := fakes(fakeServers{"myserver": server})
		opts.Registry = registry.New(&registry.Options{Names: regnames.MCPServerTool})
		h := open(t, "mcp.json", `{"mcpServers": {"myserver": {"command": "x"}}}`, opts)
		list := content.New(h).Prompts(patience(t), nil)
		assert.Equal(t, len(list.Items), 1)
		prompt := assert.Value(content.New(h).GetPrompt(patience(t), list.Items[0].Name, map[string]string{"file": "a.go"}, nil))(t)
		assert.Contains(t, encode(t, prompt.Messages), "Review it.", "prompt")
		t.Run("named as tools are", func(t *testing.T) {
			assert.Equal(t, list.Items[0].Name, "mcp__myserver__review", "name")
		})
	}},
	{9, func(t *testing.T) {
		k := newKodeFolder(t)
		k.write(k.global(), `{"mcpServers": {"myserver": {"type": "stdio", "command": "python", "args": ["global"]}}}`)
		assert.Equal(t, k.args(), "global", "the last of three")
		k.write(k.mcprc(), `{"myserver": {"type": "stdio", "command": "python", "args": ["rc"]}}`)
		assert.Equal(t, k.args(), "rc", "the second of three")
		add := func(t *testing.T, path string, opts *config.Options) {
			assert.Value(record.Add(patience(t), edit.OpenFileStore(path, opts), &config.Server{Name: "other", Command: "python", Args: []string{"-m", "my_mcp_server"}}))(t)
		}
		for _, path := range []string{k.mcprc(), k.global()} {
			add(t, path, nil)
		}
		assert.Equal(t, len(k.load().Servers), 2, "servers after one was added in two scopes")
		t.Run("of a project", func(t *testing.T) {
			k := newKodeFolder(t)
			k.write(k.mcprc(), `{"myserver": {"type": "stdio", "command": "python", "args": ["rc"]}}`)
			k.write(k.global(), `{"projects": {"`+k.project+`": {"mcpServers": {"myserver": {"type": "stdio", "command": "python", "args": ["project"]}}}}}`)
			assert.Equal(t, k.args(), "project", "the first of three")
			assert.False(t, k.load().Servers[0].Source.Scope.NeedsApproval(), "it needs approval")
			add(t, k.global(), &config.Options{Project: k.project, Scope: config.ScopeLocal})
			data := assert.Value(os.ReadFile(k.global()))(t)
			global := decode[struct {
				Projects map[string]struct{ MCPServers map[string]any }
			}](t, string(data))
			assert.True(t, global.Projects[k.project].MCPServers["other"] != nil, "it was added to the section")
		})
	}},
	{10, func(t *testing.T) {
		k := newKodeFolder(t)
		k.write(k.mcprc(), `{"myserver": `+kodeServer+`}`)
		book := consent.New()
		h := k.host(&host.Options{StateDir: host.NoState, Consents: book})
		assert.Equal(t, status(t, h, "myserver").Stage, host.StageNotAllowed, "pending")
		decideAll := func(decide func(fingerprint string) error) {
			t.Helper()
			pending := h.PendingLaunches()
			assert.Equal(t, len(pending), 1, "what waits")
			assert.Contains(t, pending[0].String(), "python -m my_mcp_server", "what is shown")
			assert.OK(t, decide(pending[0].Fingerprint()))
		}
		decideAll(func(f string) error { return h.AllowLaunch(patience(t), "ann", f) })
		until(t, h, "myserver", func(s host.Status) bool { return s.Stage == host.StageReady })
		assert.Equal(t, call(t, h, "myserver__calculate", kodeArguments), kodeArguments, "approved")
		k.write(k.mcprc(), `{"myserver": `+strings.Replace(kodeServer, `]}`, `], "env": {"A": "1"}}`, 1)+`}`)
		k.apply(h)
		assert.Equal(t, status(t, h, "myserver").Stage, host.StageNotAllowed, "another command is asked again")
		decideAll(func(f string) error { return h.DenyLaunch(patience(t), "ann", f) })
		assert.Equal(t, len(h.PendingLaunches()), 0, "rejected ones that wait")
		assert.Equal(t, len(assert.Value(book.Records(patience(t)))(t)), 2, "decisions that are kept")
	}},
	{32, func(t *testing.T) {
		opts := &host.Options{Registry: registry.New(&registry.Options{Names: regnames.MCPServerTool})}
		h := open(t, "mcp.json", `{"mcpServers": {"myserver": `+kodeServer+`}}`, opts)
		assert.Equal(t, names(h.Registry()), "mcp__myserver__calculate", "name")
		assert.Equal(t, h.Registry().Snapshot().Tools()[0].Definition().DisplayName(), "myserver:calculate (MCP)", "shown")
		assert.Equal(t, call(t, h, "myserver:calculate", kodeArguments), kodeArguments, "called as the document does")
	}},
	{34, func(t *testing.T) {
		schema := `{"type":"object","properties":{"expression":{"type":"string"}},"additionalProperties":true}`
		server := script(t, mcptest.Script{"tools/list": tools(`{"name":"calculate","description":"Calculate it","inputSchema":`+schema+`}`, plain("bare"))})
		h := open(t, "mcp.json", `{"mcpServers": {"myserver": {"command": "x"}}}`, fakes(fakeServers{"myserver": server}))
		tool, _ := h.Registry().Snapshot().Lookup("myserver__calculate")
		assert.Equal(t, tool.Definition().Description+" "+string(tool.Definition().InputSchema), "Calculate it "+schema, "description and schema")
		bare, _ := h.Registry().Snapshot().Lookup("myserver__bare")
		assert.Equal(t, bare.Definition().Description, "", "no description")
	}},
	{43, func(t *testing.T) {
		no := false
		opts := &host.Options{Registry: registry.New(&registry.Options{Approver: allowing(t, policy.Rule{Verdict: approval.Ask, Native: &no})})}
		h := open(t, "mcp.json", `{"mcpServers": {"myserver": `+kodeServer+`}}`, opts)
		for range 2 { // always
			_, err := h.Registry().Call(patience(t), "myserver__calculate", []byte(kodeArguments))
			required := assert.As[*registry.ApprovalRequiredError](t, err)
			assert.Equal(t, result.Text(assert.Value(h.Registry().Approve(patience(t), required.Request.ID, nil))(t)), kodeArguments, "answer")
		}
	}},
}
