package edit_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/record"
)

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
