// Tests of all stores of records: what record.Store promises.

package edit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/config/edit"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/storage"
)

// TestStores holds all stores of this library to each promise of record.Store, between two
// of them over one place.
func TestStores(t *testing.T) {
	t.Parallel()
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
		}, func(s record.Store) record.Store { return edit.OpenFileStore(pathOf(s), nil) }},
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
func (p *twoStores) add(records ...*config.Server) {
	p.Helper()
	for _, r := range records {
		rev, err := p.first.Save(p.Context(), "", r, "")
		assert.OK(p, err, "Save of the new record %q", r.Name)
		if rev == "" {
			p.Fatalf("Save of %q returned the revision of a record that is not there", r.Name)
		}
	}
}

// get returns the record of that name as a store has it.
func (p *twoStores) get(s record.Store, name string) record.Stored {
	p.Helper()
	got, err := record.Find(p.Context(), s, name)
	assert.OK(p, err, "the record %q", name)
	if got.Revision == "" {
		p.Fatalf("the record %q has no revision", name)
	}
	return got
}

// expect compares what both stores have with records, in order.
func (p *twoStores) expect(records ...*config.Server) {
	p.Helper()
	for _, s := range []record.Store{p.first, p.second} {
		all, err := s.Records(p.Context())
		assert.OK(p, err, "Records")
		assert.Equal(p, len(all), len(records))
		for i, r := range records {
			assert.Equal(p, p.text(all[i].Record), p.text(r), "record %d", i)
		}
	}
}

// text is a record in clear.
func (p *twoStores) text(r *config.Server) string {
	p.Helper()
	data, err := record.Encode(r)
	assert.OK(p, err, "Encode")
	return string(data)
}

func (p *twoStores) expectCode(what string, err error, code record.Code) {
	p.Helper()
	assert.Is(p, err, &record.Error{Code: code}, "%s", what)
}

// local is a server of that name with one more thing to tell it from others.
func local(name, description string) *config.Server {
	return &config.Server{Name: name, Command: "run", Transport: config.TransportStdio, Description: description}
}

// records are two that have something in every field together.
func records() []*config.Server {
	return []*config.Server{
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
				DeviceURL: "https://login.example.com/d", Grant: "authorization_code",
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

func checkEmpty(p *twoStores) {
	p.expect()
	p.expectCode("FindRecord of none", assert.Err(record.Find(p.Context(), p.first, "a")), record.CodeNotFound)
}

func checkFields(p *twoStores) {
	all := records()
	p.add(all...)
	p.expect(all...)
	for _, r := range all { // saved again as they were read
		got := p.get(p.first, r.Name)
		assert.OK(p, assert.Err(p.first.Save(p.Context(), r.Name, got.Record, got.Revision)), "Save of what was read")
	}
	p.expect(all...)
	for _, r := range all { // and with everything cleared that can be
		got := p.get(p.first, r.Name)
		bare := local(r.Name, "")
		assert.OK(p, assert.Err(p.first.Save(p.Context(), r.Name, bare, got.Revision)), "Save of a bare record")
	}
	p.expect(local(all[0].Name, ""), local(all[1].Name, ""))
}

func checkOrder(p *twoStores) {
	p.add(local("b", "1"), local("a", "2"), local("c", "3"))
	got := p.get(p.first, "b")
	assert.Value(p.first.Save(p.Context(), "b", local("b", "changed"), got.Revision))(p)
	p.expect(local("b", "changed"), local("a", "2"), local("c", "3"))
}

func checkNames(p *twoStores) {
	p.add(local("a", ""), local("A", ""), local("a.b", ""))
	_, err := p.first.Save(p.Context(), "", local("a", "other"), "")
	p.expectCode("Save of a new record with the name of another", err, record.CodeNameTaken)
	p.expect(local("a", ""), local("A", ""), local("a.b", ""))
}

func checkRevisions(p *twoStores) {
	p.add(local("a", "1"))
	first := p.get(p.first, "a")
	second, err := p.first.Save(p.Context(), "a", local("a", "2"), first.Revision)
	assert.OK(p, err)
	assert.True(p, second != first.Revision, "another revision")
	assert.Equal(p, p.get(p.first, "a").Revision, second)
	p.expectCode("Save over another revision", assert.Err(p.first.Save(p.Context(), "a", local("a", "3"), first.Revision)), record.CodeConflict)
	p.expectCode("Save without revision", assert.Err(p.first.Save(p.Context(), "a", local("a", "3"), "")), record.CodeConflict)
	p.expectCode("Save of what is not there", assert.Err(p.first.Save(p.Context(), "gone", local("gone", "3"), second)), record.CodeNotFound)
	p.expect(local("a", "2"))

	// What another process has changed is another revision here.
	other := p.get(p.second, "a")
	assert.Value(p.second.Save(p.Context(), "a", local("a", "theirs"), other.Revision))(p)
	_, err = p.first.Save(p.Context(), "a", local("a", "ours"), second)
	p.expectCode("Save over the change of another process", err, record.CodeConflict)
	p.expect(local("a", "theirs"))
}

func checkRename(p *twoStores) {
	p.add(local("a", "1"), local("b", "2"))
	got := p.get(p.first, "a")
	_, err := p.first.Save(p.Context(), "a", local("b", "1"), got.Revision)
	p.expectCode("Save under the name of another", err, record.CodeNameTaken)
	p.expect(local("a", "1"), local("b", "2"))
	rev, err := p.first.Save(p.Context(), "a", local("c", "new"), got.Revision)
	assert.OK(p, err, "Save under another name")
	p.expect(local("c", "new"), local("b", "2"))
	assert.Equal(p, p.get(p.first, "c").Revision, rev)
}

func checkDelete(p *twoStores) {
	p.add(local("a", "1"), local("b", "2"), local("c", "3"))
	got := p.get(p.first, "b")
	p.expectCode("Delete of another revision", p.first.Delete(p.Context(), "b", "none"), record.CodeConflict)
	p.expectCode("Delete of what is not there", p.first.Delete(p.Context(), "d", got.Revision), record.CodeNotFound)
	assert.OK(p, p.first.Delete(p.Context(), "b", got.Revision))
	p.expect(local("a", "1"), local("c", "3"))
	p.expectCode("a second Delete", p.first.Delete(p.Context(), "b", got.Revision), record.CodeNotFound)
	p.add(local("b", "4"))
	p.expect(local("a", "1"), local("c", "3"), local("b", "4"))
	for _, name := range []string{"a", "c", "b"} {
		assert.OK(p, p.first.Delete(p.Context(), name, p.get(p.first, name).Revision))
	}
	p.expect()
}

func checkOwnership(p *twoStores) {
	r := records()[0]
	p.add(r)
	r.Args[0], r.Env["B"], r.Description = "changed", "changed", "changed"
	r.Isolation.Args[0] = "changed"
	p.expect(records()[0])
	got := p.get(p.first, r.Name).Record
	again := p.get(p.first, r.Name).Record
	if got == again {
		return // shared, and not to be changed
	}
	got.Args[0], got.Env["B"] = "changed", "changed"
	p.expect(records()[0])
}

func checkEnded(p *twoStores) {
	p.add(local("a", "1"))
	rev := p.get(p.first, "a").Revision
	ctx := ended(p)
	assert.Is(p, assert.Err(p.first.Records(ctx)), context.Canceled, "Records")
	assert.Is(p, assert.Err(p.first.Save(ctx, "a", local("a", "2"), rev)), context.Canceled, "Save")
	assert.Is(p, p.first.Delete(ctx, "a", rev), context.Canceled, "Delete")
	p.expect(local("a", "1"))
}

// checkWriters lets many change one record: no change is lost.
func checkWriters(p *twoStores) {
	const writers, changes = 4, 5
	p.add(local("count", "0"))
	var wg sync.WaitGroup
	for w := range writers {
		store := p.first
		if w%2 == 1 {
			store = p.second
		}
		wg.Go(func() {
			for done := 0; done < changes; {
				got, err := record.Find(p.Context(), store, "count")
				if err != nil {
					p.Errorf("the record: %v", err)
					return
				}
				var n int
				_, _ = fmt.Sscan(got.Record.Description, &n)
				_, err = store.Save(p.Context(), "count", local("count", fmt.Sprint(n+1)), got.Revision)
				switch {
				case err == nil:
					done++
				case !errors.Is(err, &record.Error{Code: record.CodeConflict}):
					p.Errorf("Save: %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
	p.expect(local("count", fmt.Sprint(writers*changes)))
}

// checkCreators lets many add a record of one name: one of them does.
func checkCreators(p *twoStores) {
	var made atomic.Int32
	var wg sync.WaitGroup
	for w := range 6 {
		store := p.first
		if w%2 == 1 {
			store = p.second
		}
		wg.Go(func() {
			_, err := store.Save(p.Context(), "", local("a", "one"), "")
			if err == nil {
				made.Add(1)
			} else if !errors.Is(err, &record.Error{Code: record.CodeNameTaken}) {
				p.Errorf("Save: %v", err)
			}
			assert.Equal(p, assert.Err(store.Save(p.Context(), "", local(fmt.Sprint("own", w), ""), "")), nil, "Save")
		})
	}
	wg.Wait()
	assert.Equal(p, len(assert.Value(p.first.Records(p.Context()))(p)), 7)
	assert.Equal(p, made.Load(), 1)
}

// checkServers reads the records as a host does.
func checkServers(p *twoStores) {
	p.add(records()...)
	p.add(local("broken", ""))
	got := p.get(p.first, "broken")
	if _, err := p.first.Save(p.Context(), "broken", &config.Server{Name: "broken", Transport: config.TransportSSE, URL: "ftp://x"}, got.Revision); err != nil {
		return // a store may refuse what cannot be read back
	}
	lookup := func(name string) (string, bool) { return "value-of-" + name, true }
	secrets := config.NewSecrets()
	assert.OK(p, secrets.SetSecret(p.Context(), "x", "kept"))
	c, err := record.Read(p.Context(), p.first, &config.Options{Lookup: lookup, Secrets: secrets})
	assert.OK(p, err, "ReadStore")
	assert.Equal(p, len(c.Servers), 3, "ReadStore")
	s := c.Servers[0]
	assert.Equal(p, [...]string{s.Title, s.Args[3]}, [...]string{"A b_c.d-9", "--token=value-of-TOKEN"}, "ReadStore")
	assert.True(p, s.Disabled, "Disabled")
	assert.True(p, s.Builtin, "Builtin")
	s = c.Servers[1]
	assert.OK(p, s.Err, "ReadStore")
	assert.Equal(p, s.Headers["X-A"], "value-of-A", "ReadStore")
	assert.Equal(p, s.URL, "https://example.com/mcp?a=b&c=value-of-D", "ReadStore")
	assert.Fails(p, c.Servers[2].Err, "ReadStore")
}

// checkArchive checks IDs, times and deleted records of a store.
func checkArchive(p *twoStores) {
	archive := p.first
	p.add(local("a", "1"), local("b", "2"), local("c", "3"))
	before := p.get(archive, "a")
	ids := map[string]bool{before.ID: true, p.get(archive, "b").ID: true, p.get(archive, "c").ID: true, "": true}
	assert.Equal(p, len(ids), 4)
	assert.False(p, before.Created.IsZero(), "Created")
	assert.False(p, before.Updated.Before(before.Created), "Updated")
	assert.True(p, before.Deleted.IsZero(), "not deleted")
	assert.Value(archive.Save(p.Context(), "a", local("renamed", "1"), before.Revision))(p)
	renamed := p.get(archive, "renamed")
	assert.Equal(p, renamed.ID, before.ID)
	assert.True(p, renamed.Created.Equal(before.Created), "the time stays")
	assert.False(p, renamed.Updated.Before(before.Updated), "Updated")
	p.add(local("a", "another"))
	assert.False(p, ids[p.get(archive, "a").ID])
	p.expectCode("Restore of what is there", archive.Restore(p.Context(), renamed.ID), record.CodeNotFound)
	p.expectCode("Restore of what never was", archive.Restore(p.Context(), "~0"), record.CodeNotFound)

	assert.OK(p, archive.Delete(p.Context(), "renamed", renamed.Revision))
	deleted := assert.Value(archive.Deleted(p.Context()))(p)
	assert.Equal(p, len(deleted), 1)
	assert.Equal(p, deleted[0].ID, renamed.ID)
	assert.False(p, deleted[0].Deleted.IsZero(), "Deleted")
	assert.Equal(p, p.text(deleted[0].Record), p.text(renamed.Record))
	p.add(local("renamed", "in its place"))
	p.expectCode("Restore under the name of another", archive.Restore(p.Context(), renamed.ID), record.CodeNameTaken)
	place := p.get(archive, "renamed")
	assert.False(p, place.ID == renamed.ID, "what has the name of a deleted record has its ID %q", place.ID)
	assert.OK(p, archive.Delete(p.Context(), "renamed", place.Revision))
	assert.OK(p, archive.Restore(p.Context(), renamed.ID))
	again := p.get(archive, "renamed")
	assert.Equal(p, again.ID, renamed.ID)
	assert.True(p, again.Created.Equal(renamed.Created), "the time stays")
	assert.Equal(p, p.text(again.Record), p.text(renamed.Record))
	deleted = assert.Value(archive.Deleted(p.Context()))(p)
	assert.Equal(p, len(deleted), 1)
	assert.Equal(p, deleted[0].ID, place.ID)
	p.expectCode("Restore twice", archive.Restore(p.Context(), renamed.ID), record.CodeNotFound)
}
