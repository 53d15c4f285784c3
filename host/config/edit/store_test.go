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

func checkEmpty(p *twoStores) {
	p.expect()
	_, err := record.Find(p.Context(), p.first, "a")
	p.expectCode("FindRecord of none", err, record.CodeNotFound)
}

func checkFields(p *twoStores) {
	all := records()
	p.add(all...)
	p.expect(all...)
	for _, r := range all { // saved again as they were read
		got := p.get(p.first, r.Name)
		if _, err := p.first.Save(p.Context(), r.Name, got.Record, got.Revision); err != nil {
			p.Fatalf("Save of what was read: %v", err)
		}
	}
	p.expect(all...)
	for _, r := range all { // and with everything cleared that can be
		got := p.get(p.first, r.Name)
		bare := local(r.Name, "")
		if _, err := p.first.Save(p.Context(), r.Name, bare, got.Revision); err != nil {
			p.Fatalf("Save of a bare record: %v", err)
		}
	}
	p.expect(local(all[0].Name, ""), local(all[1].Name, ""))
}

func checkOrder(p *twoStores) {
	p.add(local("b", "1"), local("a", "2"), local("c", "3"))
	got := p.get(p.first, "b")
	if _, err := p.first.Save(p.Context(), "b", local("b", "changed"), got.Revision); err != nil {
		p.Fatal(err)
	}
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
	if err != nil {
		p.Fatal(err)
	}
	if second == first.Revision || second == "" {
		p.Errorf("the revision after a change is %q, before it was %q", second, first.Revision)
	}
	if got := p.get(p.first, "a"); got.Revision != second {
		p.Errorf("the record has revision %q, Save returned %q", got.Revision, second)
	}
	_, err = p.first.Save(p.Context(), "a", local("a", "3"), first.Revision)
	p.expectCode("Save over another revision", err, record.CodeConflict)
	_, err = p.first.Save(p.Context(), "a", local("a", "3"), "")
	p.expectCode("Save without revision", err, record.CodeConflict)
	_, err = p.first.Save(p.Context(), "gone", local("gone", "3"), second)
	p.expectCode("Save of what is not there", err, record.CodeNotFound)
	p.expect(local("a", "2"))

	// What another process has changed is another revision here.
	other := p.get(p.second, "a")
	if _, err := p.second.Save(p.Context(), "a", local("a", "theirs"), other.Revision); err != nil {
		p.Fatal(err)
	}
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
	if err != nil {
		p.Fatalf("Save under another name: %v", err)
	}
	p.expect(local("c", "new"), local("b", "2"))
	if at := p.get(p.first, "c").Revision; at != rev {
		p.Errorf("the renamed record has revision %q, Save returned %q", at, rev)
	}
}

func checkDelete(p *twoStores) {
	p.add(local("a", "1"), local("b", "2"), local("c", "3"))
	got := p.get(p.first, "b")
	p.expectCode("Delete of another revision", p.first.Delete(p.Context(), "b", "none"), record.CodeConflict)
	p.expectCode("Delete of what is not there", p.first.Delete(p.Context(), "d", got.Revision), record.CodeNotFound)
	if err := p.first.Delete(p.Context(), "b", got.Revision); err != nil {
		p.Fatal(err)
	}
	p.expect(local("a", "1"), local("c", "3"))
	p.expectCode("a second Delete", p.first.Delete(p.Context(), "b", got.Revision), record.CodeNotFound)
	p.add(local("b", "4"))
	p.expect(local("a", "1"), local("c", "3"), local("b", "4"))
	for _, name := range []string{"a", "c", "b"} {
		if err := p.first.Delete(p.Context(), name, p.get(p.first, name).Revision); err != nil {
			p.Fatal(err)
		}
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
	if _, err := p.first.Records(ctx); !errors.Is(err, context.Canceled) {
		p.Errorf("Records: %v, want the end of the context", err)
	}
	if _, err := p.first.Save(ctx, "a", local("a", "2"), rev); !errors.Is(err, context.Canceled) {
		p.Errorf("Save: %v, want the end of the context", err)
	}
	if err := p.first.Delete(ctx, "a", rev); !errors.Is(err, context.Canceled) {
		p.Errorf("Delete: %v, want the end of the context", err)
	}
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
			if _, err := store.Save(p.Context(), "", local(fmt.Sprint("own", w), ""), ""); err != nil {
				p.Errorf("Save: %v", err)
			}
		})
	}
	wg.Wait()
	all, err := p.first.Records(p.Context())
	if err != nil || len(all) != 7 || made.Load() != 1 {
		p.Errorf("%d records, %d of one name, %v", len(all), made.Load(), err)
	}
}

// checkServers reads the records as a host does.
func checkServers(p *twoStores) {
	p.add(records()...)
	p.add(local("broken", ""))
	got := p.get(p.first, "broken")
	if _, err := p.first.Save(p.Context(), "broken", &record.Record{Name: "broken", Transport: config.TransportSSE, URL: "ftp://x"}, got.Revision); err != nil {
		return // a store may refuse what cannot be read back
	}
	lookup := func(name string) (string, bool) { return "value-of-" + name, true }
	secrets := config.NewSecrets()
	if err := secrets.SetSecret(p.Context(), "x", "kept"); err != nil {
		p.Fatal(err)
	}
	c, err := record.Read(p.Context(), p.first, &config.Options{Lookup: lookup, Secrets: secrets})
	if err != nil || len(c.Servers) != 3 {
		p.Fatalf("ReadStore: %v, %v", c, err)
	}
	if s := c.Servers[0]; s.Title != "A b_c.d-9" || s.Args[3] != "--token=value-of-TOKEN" || s.Enabled || !s.Builtin {
		p.Errorf("ReadStore: %v, %v", s, s.Err)
	}
	if s := c.Servers[1]; s.Err != nil || s.Headers["X-A"] != "value-of-A" || s.URL != "https://example.com/mcp?a=b&c=value-of-D" {
		p.Errorf("ReadStore: %v, %v", s, s.Err)
	}
	if s := c.Servers[2]; s.Err == nil {
		p.Errorf("ReadStore: %v has no error", s)
	}
}

// checkArchive checks IDs, times and deleted records of a store.
func checkArchive(p *twoStores) {
	archive := p.first
	p.add(local("a", "1"), local("b", "2"), local("c", "3"))
	before := p.get(archive, "a")
	ids := map[string]bool{before.ID: true, p.get(archive, "b").ID: true, p.get(archive, "c").ID: true, "": true}
	if len(ids) != 4 {
		p.Errorf("three records have the IDs %v, want three of them", ids)
	}
	if before.Created.IsZero() || before.Updated.Before(before.Created) || !before.Deleted.IsZero() {
		p.Errorf("a new record was made %v, changed %v and deleted %v; want the former two", before.Created, before.Updated, before.Deleted)
	}
	if _, err := archive.Save(p.Context(), "a", local("renamed", "1"), before.Revision); err != nil {
		p.Fatal(err)
	}
	renamed := p.get(archive, "renamed")
	if renamed.ID != before.ID {
		p.Errorf("the renamed record has the ID %q, before it was %q", renamed.ID, before.ID)
	}
	if !renamed.Created.Equal(before.Created) || renamed.Updated.Before(before.Updated) {
		p.Errorf("the renamed record was made %v and changed %v; before %v and %v", renamed.Created, renamed.Updated, before.Created, before.Updated)
	}
	p.add(local("a", "another"))
	if id := p.get(archive, "a").ID; ids[id] {
		p.Errorf("a new record under a former name has the ID %q of another one", id)
	}
	p.expectCode("Restore of what is there", archive.Restore(p.Context(), renamed.ID), record.CodeNotFound)
	p.expectCode("Restore of what never was", archive.Restore(p.Context(), "~0"), record.CodeNotFound)

	if err := archive.Delete(p.Context(), "renamed", renamed.Revision); err != nil {
		p.Fatal(err)
	}
	deleted, err := archive.Deleted(p.Context())
	if err != nil {
		p.Fatal(err)
	}
	if len(deleted) != 1 || deleted[0].ID != renamed.ID || deleted[0].Deleted.IsZero() || p.text(deleted[0].Record) != p.text(renamed.Record) {
		p.Fatalf("the deleted records are %+v, want the one that was deleted", deleted)
	}
	p.add(local("renamed", "in its place"))
	p.expectCode("Restore under the name of another", archive.Restore(p.Context(), renamed.ID), record.CodeNameTaken)
	place := p.get(archive, "renamed")
	if place.ID == renamed.ID {
		p.Errorf("what has the name of a deleted record has its ID %q", place.ID)
	}
	if err := archive.Delete(p.Context(), "renamed", place.Revision); err != nil {
		p.Fatal(err)
	}
	if err := archive.Restore(p.Context(), renamed.ID); err != nil {
		p.Fatal(err)
	}
	again := p.get(archive, "renamed")
	if again.ID != renamed.ID || !again.Created.Equal(renamed.Created) || p.text(again.Record) != p.text(renamed.Record) {
		p.Errorf("the restored record is %+v of %q, want %+v of %q", again.Record, again.ID, renamed.Record, renamed.ID)
	}
	if deleted, err = archive.Deleted(p.Context()); err != nil || len(deleted) != 1 || deleted[0].ID != place.ID {
		p.Errorf("after it was restored the deleted records are %+v, and %v; want the other one", deleted, err)
	}
	p.expectCode("Restore twice", archive.Restore(p.Context(), renamed.ID), record.CodeNotFound)
}
