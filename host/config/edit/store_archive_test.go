package edit_test

import (
	"github.com/mcpbelt/mcpbelt/host/record"
)

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
