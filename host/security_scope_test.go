// Tests of consents.go and transport.go: nothing of a project runs, and nothing is made for it, before it was allowed.

//go:build unix

package host_test

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/config/edit"
	"github.com/mcpbelt/mcpbelt/host/consent"
	"github.com/mcpbelt/mcpbelt/host/doctor"
	"github.com/mcpbelt/mcpbelt/host/manage"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/session"
)

// A reading is a way in which a host gets to know an entry of a project's file again,
// after it was told once whose file that is. docs/security.md lists them all.
type reading struct {
	how string
	do  func(p *project, path string) *host.Host
}

func asProject() *config.Options { return &config.Options{Scope: config.ScopeProject} }

// lax says nothing of whose file it is, but something else.
func lax() *config.Options { return &config.Options{Lookup: os.LookupEnv} }

// openStore opens a store that knows its scope, with options that do not say it.
func (p *project) openStore(path string) *host.Host {
	p.Helper()
	h, err := openStore(p.Context(), edit.OpenFileStore(path, asProject()), p.options(lax()))
	return p.opened(h, err)
}

// open opens a file as that of a project.
func (p *project) open(path string, config *config.Options) *host.Host {
	p.Helper()
	h, err := host.Open(p.Context(), path, p.options(config))
	return p.opened(h, err)
}

// applied makes a host, and applies what the file says.
func (p *project) applied(c *config.Config, err error) *host.Host {
	p.Helper()
	assert.OK(p, err)
	h := p.opened(host.New(p.options(lax())), nil)
	p.reported(h.Apply(p.Context(), c))
	return h
}

func (p *project) options(c *config.Options) *host.Options {
	return patient(&host.Options{Consents: consent.New(), StateDir: host.NoState, Config: c})
}

func (p *project) opened(h *host.Host, err error) *host.Host {
	p.Helper()
	assert.OK(p, err)
	p.Cleanup(func() { assert.OK(p, h.Close()) })
	return h
}

func (p *project) reported(_ host.Report, err error) {
	p.Helper()
	assert.OK(p, err)
}

// manager manages records of a host that are read without scope.
func (p *project) manager(h *host.Host, store record.Store) *manage.Manager {
	return manage.New(h, store, &manage.Options{Host: host.Options{Config: lax()}})
}

// update changes what no one is asked for.
func (p *project) update(h *host.Host, store record.Store) *host.Host {
	p.Helper()
	p.reported(p.manager(h, store).Update(p.Context(), "notes", &record.Patch{Keys: []string{"description"}, Values: config.Server{Description: "another"}}))
	return h
}

// updated is update with a manager of its own.
func (p *project) updated(m *manage.Manager, err error) *host.Host {
	p.Helper()
	assert.OK(p, err)
	p.reported(m.Update(p.Context(), "notes", &record.Patch{Keys: []string{"description"}, Values: config.Server{Description: "another"}}))
	return p.opened(m.Host(), nil)
}

// again removes the record of a server and adds it.
func (p *project) again(h *host.Host, store record.Store) *host.Host {
	p.Helper()
	m := p.manager(h, store)
	p.reported(m.Remove(p.Context(), "notes"))
	p.reported(m.Add(p.Context(), &config.Server{Name: "notes", Command: "./bin/notes", Cwd: "."}))
	return h
}

func (p *project) write(path, text string) {
	p.Helper()
	assert.OK(p, os.WriteFile(path, []byte(text), 0o600))
}

const (
	projectFile  = `{"mcpServers":{"notes":{"command":"./bin/notes","cwd":"."}}}`
	replacedFile = `{"mcpServers":{"notes":{"command":"./bin/notes","cwd":".","args":["again"]}}}`
)

// follow applies a file once more as [host.Host.Follow] does.
func (p *project) follow(h *host.Host, load func(context.Context) (*config.Config, error)) *host.Host {
	p.Helper()
	var once iter.Seq[[]string] = func(yield func([]string) bool) { yield(nil) }
	changes := func(context.Context) iter.Seq[[]string] { return once }
	assert.OK(p, h.Follow(p.Context(), changes, load, nil))
	return h
}

func readings() []reading {
	// named gives the file the name of a project's file.
	named := func(p *project, path string) string {
		own := filepath.Join(filepath.Dir(path), ".mcp.json")
		assert.OK(p, os.Rename(path, own))
		return own
	}
	return []reading{
		{"`Open` of `.mcp.json` without options", func(p *project, path string) *host.Host { return p.open(named(p, path), nil) }},
		{"`OpenStore` of `.mcp.json` without options", func(p *project, path string) *host.Host { return p.openStoreOf(named(p, path)) }},
		{"`Manager.Update` after `Open` of `.mcp.json`", func(p *project, path string) *host.Host {
			path = named(p, path)
			return p.update(p.open(path, nil), edit.OpenFileStore(path, nil))
		}},
		{"`Apply` of `LoadAll` of what `Find` finds", func(p *project, path string) *host.Host {
			named(p, path)
			configs, err := config.LoadAll(context.Background(), config.Find(&config.FindOptions{Project: p.dir, Home: p.dir + "/home", Lookup: func(string) (string, bool) { return "", false }}), lax())
			return p.applied(config.Merge(configs...), err)
		}},
		{"`Open` with `Options.Config.Scope`", func(p *project, path string) *host.Host { return p.open(path, asProject()) }},
		{"`OpenStore` with a store of a file that has the scope", func(p *project, path string) *host.Host { return p.openStore(path) }},
		{"`OpenStore`, the scope in `Options.Config`", func(p *project, path string) *host.Host {
			h, err := openStore(p.Context(), edit.OpenFileStore(path, nil), p.options(asProject()))
			return p.opened(h, err)
		}},
		{"`New`, `Apply` of `record.Read`", func(p *project, path string) *host.Host {
			store := edit.OpenFileStore(path, asProject())
			c, err := record.Read(p.Context(), store, lax())
			return p.applied(c, err)
		}},
		{"`manage.Open`, then `Update`", func(p *project, path string) *host.Host {
			m, err := manage.Open(p.Context(), path, &manage.Options{Host: *p.options(asProject())})
			return p.updated(m, err)
		}},
		{"`manage.OpenStore`, then `Update`", func(p *project, path string) *host.Host {
			m, err := manage.OpenStore(p.Context(), edit.OpenFileStore(path, asProject()), &manage.Options{Host: *p.options(lax())})
			return p.updated(m, err)
		}},
		{"`Manager.Update` in a `Store` without scope, after `Apply`", func(p *project, path string) *host.Host {
			c, err := config.Load(context.Background(), path, asProject())
			return p.update(p.applied(c, err), edit.OpenFileStore(path, nil))
		}},
		{"`Manager.Update` with a new name", func(p *project, path string) *host.Host {
			h := p.openStore(path)
			m := p.manager(h, edit.OpenFileStore(path, asProject()))
			p.reported(m.Update(p.Context(), "notes", &record.Patch{Keys: []string{"name"}, Values: config.Server{Name: "renamed"}}))
			return h
		}},
		{"`Manager.Update` of records in memory", func(p *project, path string) *host.Host {
			store := record.NewMemoryStore(&config.Server{Name: "notes", Command: filepath.Join(p.dir, "bin/notes"), Cwd: p.dir})
			c, err := record.Read(p.Context(), store, asProject())
			return p.update(p.applied(c, err), store)
		}},
		{"`Manager.Add` to the file", func(p *project, path string) *host.Host {
			return p.again(p.openStore(path), edit.OpenFileStore(path, asProject()))
		}},
		{"`Manager.Add` to a `Store` without scope, after `Apply`", func(p *project, path string) *host.Host {
			c, err := config.Load(context.Background(), path, asProject())
			return p.again(p.applied(c, err), edit.OpenFileStore(path, nil))
		}},
		{"`Apply` of the file, read without scope", func(p *project, path string) *host.Host {
			h := p.open(path, asProject())
			c := assert.Value(config.Load(context.Background(), path, nil))(p)
			p.reported(h.Apply(p.Context(), c))
			return h
		}},
		{"`Follow` with a file that was replaced, read without scope", func(p *project, path string) *host.Host {
			h := p.open(path, asProject())
			p.write(path, replacedFile)
			return p.follow(h, func(ctx context.Context) (*config.Config, error) { return config.Load(ctx, path, nil) })
		}},
		{"`Follow` with an entry that was gone for a moment", func(p *project, path string) *host.Host {
			h := p.open(path, asProject())
			load := func(ctx context.Context) (*config.Config, error) { return config.Load(ctx, path, nil) }
			p.write(path, `{"mcpServers":{}}`)
			p.follow(h, load)
			p.write(path, projectFile)
			return p.follow(h, load)
		}},
		{"`Test` of the entry, read without scope", func(p *project, path string) *host.Host {
			h := p.open(path, asProject())
			c, err := config.Load(p.Context(), path, nil)
			if err == nil {
				_, err = doctor.Test(p.Context(), h, c.Servers[0])
			}
			assert.OK(p, err)
			return h
		}},
		{"`Apply` of `Merge`", func(p *project, path string) *host.Host {
			c, err := config.Load(p.Context(), path, asProject())
			return p.applied(config.Merge(c), err)
		}},
		{"`Import.Apply` into the file, and `Apply` of it", func(p *project, path string) *host.Host {
			h := p.openStore(path)
			source := filepath.Join(p.dir, "source.json")
			p.write(source, replacedFile)
			plan, err := edit.PlanImport(source, path, &edit.ImportOptions{Replace: true})
			if err == nil {
				err = plan.Apply(p.Context())
			}
			assert.OK(p, err)
			return p.follow(h, func(ctx context.Context) (*config.Config, error) { return config.Load(ctx, path, nil) })
		}},
		{"`Disable`, then `Enable`", func(p *project, path string) *host.Host {
			h := p.openStore(path)
			assert.OK(p, h.Disable(p.Context(), "notes"))
			_ = h.Enable(p.Context(), "notes") // it waits, which Status says
			return h
		}},
		{"`Restart`", func(p *project, path string) *host.Host {
			h := p.openStore(path)
			_ = h.Restart(p.Context(), "notes")
			return h
		}},
	}
}

// TestScopeStays: whichever way an entry of a project is read again, it waits as before.
func TestScopeStays(t *testing.T) {
	t.Parallel()
	for _, way := range readings() {
		t.Run(way.how, func(t *testing.T) {
			p := newProject(t)
			p.TB = t
			path := filepath.Join(p.dir, "servers.json")
			p.write(path, projectFile)
			h := way.do(p, path)
			assert.Equal(t, h.Servers()[0].Stage, host.StageNotAllowed, "stage")
			assert.Equal(t, len(h.PendingLaunches()), 1, "launches that wait")
			p.wantStarts()
		})
	}
}

// TestProjectFileWaits: a file with the name of a project's file is one, unless the
// program says otherwise.
func TestProjectFileWaits(t *testing.T) {
	t.Parallel()
	for _, name := range []string{".mcp.json", ".cursor/mcp.json", ".vscode/mcp.json", ".gemini/settings.json", ".kode.json", ".mcprc",
		".vs/mcp.json", ".github/mcp.json", ".kiro/settings/mcp.json", ".junie/mcp/mcp.json", ".roo/mcp.json", ".kilocode/mcp.json",
		".amazonq/mcp.json", ".factory/mcp.json", ".warp/.mcp.json", "opencode.json", ".opencode/opencode.jsonc", "crush.json", ".crush.json"} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t)
			path := filepath.Join(p.dir, name)
			assert.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
			key := "mcpServers"
			switch filepath.Dir(name) {
			case ".vscode", ".vs":
				key = "servers"
			}
			if base := filepath.Base(name); strings.Contains(base, "opencode") || strings.Contains(base, "crush") {
				key = "mcp"
			}
			p.write(path, `{"`+key+`":{"notes":{"command":"`+p.dir+`/bin/notes"}}}`)
			wantStage(t, p.open(path, nil), host.StageNotAllowed)
			wantStage(t, p.openStoreOf(path), host.StageNotAllowed)
			p.wantStarts()
			if name == ".mcp.json" {
				wantStage(t, p.open(path, &config.Options{Scope: config.ScopeUser}), host.StageReady)
			}
		})
	}
}

func (p *project) openStoreOf(path string) *host.Host {
	p.Helper()
	h, err := openStore(p.Context(), edit.OpenFileStore(path, nil), p.options(nil))
	return p.opened(h, err)
}

// canaryEntries name a program that leaves a trace, or a server that counts, wherever an
// entry can name one.
func canaryEntries(dir, url string) map[string]string {
	return map[string]string{
		"absolute":  fmt.Sprintf(`{"command":"%s/bin/notes"}`, dir),
		"relative":  `{"command":"./bin/notes","cwd":"."}`,
		"path":      `{"command":"notes"}`,
		"shell":     `{"command":"sh","args":["-c","./bin/notes"],"cwd":"."}`,
		"expanded":  `{"command":"${workspaceFolder}/bin/notes"}`,
		"preload":   `{"command":"bash","args":["-c",":"],"env":{"BASH_ENV":"bin/notes"},"cwd":"."}`,
		"file":      `{"command":"sh","args":["-c","${file:script}"],"cwd":"."}`,
		"envfile":   `{"command":"bash","args":["-c",":"],"envFile":"vars","cwd":"."}`,
		"docker":    `{"command":"x","isolation":{"kind":"docker","image":"a","args":["--privileged"]}}`,
		"lazy":      `{"command":"./bin/notes","cwd":".","lazy":true}`,
		"required":  `{"command":"./bin/notes","cwd":".","trust":true,"builtin":true}`,
		"user":      `{"command":"./bin/notes","cwd":".","identity":"user"}`,
		"http":      fmt.Sprintf(`{"url":"%s/mcp"}`, url),
		"sse":       fmt.Sprintf(`{"url":"%s/sse","type":"sse"}`, url),
		"header":    fmt.Sprintf(`{"url":"%s/mcp","identity":"header","userHeader":"X-User"}`, url),
		"login":     fmt.Sprintf(`{"url":"%[1]s/mcp","auth":{"issuer":"%[1]s"}}`, url),
		"userlogin": fmt.Sprintf(`{"url":"%[1]s/mcp","identity":"user","auth":{"issuer":"%[1]s"}}`, url),
		"keyring":   fmt.Sprintf(`{"url":"%s/mcp","headers":{"X":"${keyring:k}"}}`, url),
	}
}

// A canarySecrets counts who asks for secrets.
type canarySecrets struct{ asked atomic.Int64 }

func (c *canarySecrets) Secret(context.Context, string) (config.Secret, bool, error) {
	c.asked.Add(1)
	return "s3cret", true, nil
}

func (c *canarySecrets) SetSecret(context.Context, string, config.Secret) error { return nil }

// TestCanariesOfAProjectNeverRun: whatever a program does with a host, nothing that a
// project's file names is run, connected to, or given a secret before it was allowed.
func TestCanariesOfAProjectNeverRun(t *testing.T) {
	p := newProject(t)
	p.program("bin", "docker")
	t.Setenv("PATH", filepath.Join(p.dir, "bin")+":"+os.Getenv("PATH"))
	var hits atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	t.Cleanup(server.Close)
	entries, separator := "", ""
	for name, entry := range canaryEntries(p.dir, server.URL) {
		entries += separator + fmt.Sprintf("%q:%s", name, entry)
		separator = ","
	}
	p.write(filepath.Join(p.dir, "script"), "./bin/notes")
	p.write(filepath.Join(p.dir, "vars"), "BASH_ENV=./bin/notes")
	path := filepath.Join(p.dir, ".mcp.json")
	p.write(path, `{"mcpServers":{`+entries+`}}`)

	ctx, program, secrets := watchdog(t), &countingProgram{}, &canarySecrets{}
	opts := program.options(consent.New())
	opts.Config = &config.Options{Secrets: secrets}
	h, err := host.Open(ctx, path, opts)
	p.opened(h, err)
	c := assert.Value(config.Load(t.Context(), path, opts.Config))(t)
	for _, s := range h.Servers() {
		assert.Equal(t, s.Stage, host.StageNotAllowed, "%s: got stage", s.Name)
		key := session.Key{User: "ann", Server: s.Name}
		// All of these may fail, and are not to start anything.
		_, _ = h.Client(ctx, key)
		_ = h.Discover(ctx, key)
		_ = h.Enable(ctx, s.Name)
		_ = h.Restart(ctx, s.Name)
		_ = h.Refresh(ctx, s.Name)
		_, _ = h.Login(ctx, key)
		_, _ = doctor.Diagnose(ctx, h, s.Name)
		_, _ = h.Registry().Call(session.WithUser(ctx, "ann"), s.Name+"__echo", nil)
		_, _ = manage.New(h, edit.OpenFileStore(path, nil), &manage.Options{Host: host.Options{Config: opts.Config}}).Update(ctx, s.Name, &record.Patch{Keys: []string{"description"}, Values: config.Server{Description: "another"}})
	}
	for _, e := range c.Servers {
		_, _ = doctor.Test(session.WithUser(ctx, "ann"), h, e)
	}
	p.reported(h.Apply(ctx, c))
	assert.Equal(t, len(h.PendingLaunches()), len(c.Servers), "launches that wait")
	p.wantStarts()
	assert.Equal(t, hits.Load(), 0, "requests")
	assert.Equal(t, secrets.asked.Load(), 0, "questions for secrets")
	program.wantNotAsked(t)
}

// A countingProgram program makes transports and headers for whatever server it is
// asked about, and counts how often it is.
type countingProgram struct{ transports, headers atomic.Int64 }

func (c *countingProgram) options(book *consent.Book) *host.Options {
	return &host.Options{
		StateDir: host.NoState, Consents: book,
		Transport: func(_ session.Key, e *config.Server) (mcp.Transport, error) {
			c.transports.Add(1)
			return nil, nil
		},
		UserHeaders: func(context.Context, session.Key, *config.Server) (http.Header, error) {
			c.headers.Add(1)
			return http.Header{"Authorization": {"Bearer of-the-user"}}, nil
		},
	}
}

func (c *countingProgram) wantNotAsked(t *testing.T) {
	t.Helper()
	assert.Equal(t, c.transports.Load(), 0, "calls of Transport")
	assert.Equal(t, c.headers.Load(), 0, "calls of UserHeaders")
}

func (c *countingProgram) forget() {
	c.transports.Store(0)
	c.headers.Store(0)
}

// TestNothingIsMadeForWhatWasNotAllowed: the program's own functions, which may hand out
// a user's secrets, are asked only about what was allowed at that moment.
func TestNothingIsMadeForWhatWasNotAllowed(t *testing.T) {
	remoteUsers := `"s":{"url":"http://127.0.0.1:1/mcp","type":"http","identity":"header"}`
	apply := func(t *testing.T, h *host.Host, entries string) *config.Server {
		t.Helper()
		file := filepath.Join(t.TempDir(), ".mcp.json")
		c := assert.Value(config.Parse(t.Context(), file, []byte(`{"mcpServers":{`+entries+`}}`), nil))(t)
		assert.Value(h.Apply(watchdog(t), c))(t)
		return c.Servers[0]
	}
	newHost := func(t *testing.T, program *countingProgram, book *consent.Book) *host.Host {
		t.Helper()
		h := host.New(program.options(book))
		t.Cleanup(func() { _ = h.Close() })
		return h
	}
	t.Run("pending", func(t *testing.T) {
		program := &countingProgram{}
		h := newHost(t, program, consent.New())
		apply(t, h, remoteUsers)
		_, err := h.Client(watchdog(t), session.Key{User: "ann", Server: "s"})

		assert.As[*host.LaunchNotAllowedError](t, err)
		program.wantNotAsked(t)
	})
	t.Run("a program that is not there", func(t *testing.T) {
		program := &countingProgram{}
		h := newHost(t, program, consent.New())
		e := apply(t, h, `"s":{"command":"mcpbelt-no-such-program"}`)
		assert.Value(doctor.Test(watchdog(t), h, e))(t)
		program.wantNotAsked(t)
	})
	t.Run("rejected a moment ago", func(t *testing.T) {
		program, book := &countingProgram{}, consent.New()
		h := newHost(t, program, book)
		apply(t, h, remoteUsers)
		l := h.PendingLaunches()[0]
		assert.OK(t, h.AllowLaunch(watchdog(t), "ann", l.Fingerprint()))
		assert.OK(t, book.Decide(watchdog(t), "bob", l, consent.Rejected))
		program.forget()
		_, err := h.Client(watchdog(t), session.Key{User: "ann", Server: "s"})

		assert.As[*host.LaunchNotAllowedError](t, err)
		program.wantNotAsked(t)
	})
}
