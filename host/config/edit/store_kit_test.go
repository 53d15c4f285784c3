package edit_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/config/edit"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/storage"
)

// TestStores holds all stores of this library to each promise of record.Store, between two
// of them over one place.
func TestStores(t *testing.T) {
	type kept struct {
		record.Store
		in storage.Store
	}
	for _, c := range []struct {
		name   string
		open   func(t testing.TB) record.Store
		reopen func(s record.Store) record.Store
	}{
		{"file", func(t testing.TB) record.Store {
			return edit.OpenFileStore(filepath.Join(t.TempDir(), "mcp.json"), nil)
		}, func(s record.Store) record.Store { return edit.OpenFileStore(s.(*edit.FileStore).Path(), nil) }},
		{"storage", func(testing.TB) record.Store {
			in := storage.NewMemory()
			return kept{record.NewStore(in, "servers"), in}
		}, func(s record.Store) record.Store { return record.NewStore(s.(kept).in, "servers") }},
		{"memory", func(testing.TB) record.Store { return record.NewMemoryStore() },
			func(s record.Store) record.Store { return s }},
	} {
		for _, check := range checks() {
			t.Run(c.name+"/"+check.name, func(t *testing.T) {
				first := c.open(t)
				check.run(&twoStores{TB: t, first: first, second: c.reopen(first)})
			})
		}
	}
}

// A check is one promise.
type check struct {
	name string
	run  func(p *twoStores)
}

func checks() []check {
	return []check{
		{"empty", checkEmpty},
		{"all fields", checkFields},
		{"order", checkOrder},
		{"names", checkNames},
		{"revisions", checkRevisions},
		{"rename", checkRename},
		{"delete", checkDelete},
		{"archive", checkArchive},
		{"records belong to the caller", checkOwnership},
		{"context ended", checkEnded},
		{"writers", checkWriters},
		{"creators", checkCreators},
		{"servers", checkServers},
	}
}

// A twoStores is two stores over it, or one store twice.
type twoStores struct {
	testing.TB
	first, second record.Store
}

// add adds records and expects success.
func (p *twoStores) add(records ...*record.Record) {
	p.Helper()
	for _, r := range records {
		rev, err := p.first.Save(p.Context(), "", r, "")
		if err != nil {
			p.Fatalf("Save of the new record %q: %v", r.Name, err)
		}
		if rev == "" {
			p.Fatalf("Save of %q returned the revision of a record that is not there", r.Name)
		}
	}
}

// get returns the record of that name as a store has it.
func (p *twoStores) get(s record.Store, name string) record.Stored {
	p.Helper()
	got, err := record.Find(p.Context(), s, name)
	if err != nil {
		p.Fatalf("the record %q: %v", name, err)
	}
	if got.Revision == "" {
		p.Fatalf("the record %q has no revision", name)
	}
	return got
}

// expect compares what both stores have with records, in order.
func (p *twoStores) expect(records ...*record.Record) {
	p.Helper()
	for _, s := range []record.Store{p.first, p.second} {
		all, err := s.Records(p.Context())
		if err != nil {
			p.Fatalf("Records: %v", err)
		}
		if len(all) != len(records) {
			p.Fatalf("Records returned %d of %d", len(all), len(records))
		}
		for i, r := range records {
			if got, want := p.text(all[i].Record), p.text(r); got != want {
				p.Errorf("record %d is\n\t%s, want\n\t%s", i, got, want)
			}
		}
	}
}

// text is a record in clear.
func (p *twoStores) text(r *record.Record) string {
	p.Helper()
	data, err := r.Encode()
	if err != nil {
		p.Fatalf("Encode: %v", err)
	}
	return string(data)
}

func (p *twoStores) expectCode(what string, err error, code record.Code) {
	p.Helper()
	if !errors.Is(err, &record.Error{Code: code}) {
		p.Errorf("%s: %v, want a *record.Error of %s", what, err, code)
	}
}

// local is a server of that name with one more thing to tell it from others.
func local(name, description string) *record.Record {
	return &record.Record{Name: name, Command: "run", Transport: config.TransportStdio, Description: description}
}

// records are two that have something in every field together.
func records() []*record.Record {
	return []*record.Record{
		{
			Name: "A b_c.d-9", Description: "two\nlines, \"quotes\", \\, 漢字 \u2028 <b>&", Transport: config.TransportStdio,
			Command: "npx", Args: []string{"-y", "", "a b", "--token=${TOKEN}", "**/*", `"`, `\`, "ünï"},
			Env: map[string]config.Secret{"A": "", "B": "clear text", "C": "${keyring:x}", "d": "line\nline"}, Cwd: "/srv/a b",
			Disabled: true, Builtin: true, Required: true, Lazy: true, Trust: true,
			ConnectTimeout: 1500 * time.Millisecond, ReadTimeout: time.Minute, IdleTimeout: time.Hour,
			Isolation: &config.Isolation{Kind: config.IsolationDocker, Image: "node:22", Network: true, Args: []string{"--memory=1g"},
				Mounts: []config.Mount{{Path: "/a", Target: "/b", Write: true}, {Path: "/c"}}},
			Tools: config.ToolFilter{Allow: []string{}, Deny: []string{"x"}, Rename: map[string]string{"a": "b"}},
			Extra: map[string]json.RawMessage{"icon": json.RawMessage(`{"n":1.50,"list":[true,null]}`)},
		},
		{
			Name: "remote", Transport: config.TransportHTTP, URL: "https://example.com/mcp?a=b&c=${D}",
			Headers: map[string]config.Secret{"Authorization": "Bearer secret", "X-A": "${A:-b}"},
			Proxy:   "http://user:password@proxy.example.com:3128", TLS: &config.TLS{CAFile: "/etc/ca.pem", CertFile: "/etc/c.pem", KeyFile: "/etc/k.pem"},
			Identity: config.IdentityHeader, UserHeader: "X-User",
			Auth: &config.Auth{ClientID: "id", ClientSecret: "secret", Scopes: []string{"a", "b"}, Issuer: "https://login.example.com",
				RedirectURL: "http://127.0.0.1:9/cb", AuthorizationURL: "https://login.example.com/a", TokenURL: "https://login.example.com/t",
				DeviceURL: "https://login.example.com/d", Grant: config.GrantAuthorizationCode,
				LoginParams: map[string]string{"access_type": "offline"}, AskConsent: true},
			Limits: config.Limits{MaxTools: 1, MaxInFlight: 2, MaxQueued: -1, MaxMessage: 1 << 20},
			Tools:  config.ToolFilter{Allow: []string{"a", "b"}},
		},
	}
}

func ended(p *twoStores) context.Context {
	ctx, cancel := context.WithCancel(p.Context())
	cancel()
	return ctx
}
