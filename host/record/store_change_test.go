package record_test

import (
	"context"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestAddRecord(t *testing.T) {
	s := record.NewMemoryStore(&record.Record{Name: "a b", Command: "x"})
	for name, want := range map[string]string{"a b": "name_taken name", "a_b": "name_taken name", "a.b": "name_taken name", "": "name_required name", "c": ""} {
		if _, err := record.Add(t.Context(), s, &record.Record{Name: name, Command: "x"}); codes(err) != want && (err != nil || want != "") {
			t.Errorf("%q: got %v, want %s", name, err, want)
		}
	}
	if _, err := record.Add(t.Context(), s, &record.Record{Name: "d", Command: "x", Env: map[string]config.Secret{"K": "sk-****abcd"}}); codes(err) != "mask_unmatched env.K" {
		t.Errorf("%v", err)
	}
	if all, _ := s.Records(t.Context()); len(all) != 2 {
		t.Errorf("%v", all)
	}
}

func TestUpdateRecord(t *testing.T) {
	s := record.NewMemoryStore(&record.Record{Name: "a b", Command: "x"}, &record.Record{Name: "c", Command: "y"})
	before, after, err := record.Update(t.Context(), s, "a_b", &record.Patch{Description: record.Some("new")})
	if err != nil || before.Record.Description != "" || after.Record.Description != "new" || after.Revision == before.Revision {
		t.Errorf("%v, %v, %v", before, after, err)
	}
	if _, _, err := record.Update(t.Context(), s, "a b", &record.Patch{Description: record.Some("newer"), Revision: before.Revision}); codes(err) != "conflict" {
		t.Errorf("%v", err)
	}
	if _, same, err := record.Update(t.Context(), s, "a b", &record.Patch{Description: record.Some("new"), Revision: after.Revision}); err != nil || same.Revision != after.Revision {
		t.Errorf("what changed nothing was saved: %v, %v", same, err)
	}
	if _, _, err := record.Update(t.Context(), s, "c", &record.Patch{Name: record.Some("a.b")}); codes(err) != "name_taken name" {
		t.Errorf("%v", err)
	}
	if _, _, err := record.Update(t.Context(), s, "a b", &record.Patch{Name: record.Some("a.b")}); err != nil {
		t.Errorf("%v", err)
	}
	if _, _, err := record.Update(t.Context(), s, "a_b", nil); err != nil {
		t.Errorf("%v", err)
	}
	if _, _, err := record.Update(t.Context(), s, "none", nil); codes(err) != "not_found" {
		t.Errorf("%v", err)
	}
}

// racing is a store in which somebody else changes what is about to be saved.
type racing struct {
	record.Store
	times int
}

func (r *racing) Save(ctx context.Context, name string, next *record.Record, old record.Revision) (record.Revision, error) {
	if r.times > 0 {
		r.times--
		other, err := record.Find(ctx, r.Store, name)
		if err != nil {
			return "", err
		}
		other.Record.Args = append(other.Record.Args, "theirs")
		if _, err := r.Store.Save(ctx, name, other.Record, other.Revision); err != nil {
			return "", err
		}
	}
	return r.Store.Save(ctx, name, next, old)
}

func TestUpdateRecordUnderWay(t *testing.T) {
	s := &racing{record.NewMemoryStore(&record.Record{Name: "a", Command: "x"}), 3}
	_, after, err := record.Update(t.Context(), s, "a", &record.Patch{Description: record.Some("ours")})
	if err != nil || strings.Join(after.Record.Args, " ") != "theirs theirs theirs" || after.Record.Description != "ours" {
		t.Errorf("%v, %v", after.Record, err)
	}
	s.times = 1
	if _, _, err := record.Update(t.Context(), s, "a", &record.Patch{Description: record.Some("again"), Revision: after.Revision}); codes(err) != "conflict" {
		t.Errorf("%v", err)
	}
}

func TestRemoveRecord(t *testing.T) {
	s := record.NewMemoryStore(&record.Record{Name: "a b", Command: "x"}, &record.Record{Name: "own", Command: "x", Builtin: true})
	if _, err := record.Remove(t.Context(), s, "own"); codes(err) != "builtin_readonly" {
		t.Errorf("%v", err)
	}
	if got, err := record.Remove(t.Context(), s, "a_b"); err != nil || got.Record.Name != "a b" {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := record.Remove(t.Context(), s, "a b"); codes(err) != "not_found" {
		t.Errorf("%v", err)
	}
}

// A name that a record may have is one that a server can have.
func TestLongestNameCanBeUsed(t *testing.T) {
	r := &record.Record{Name: strings.Repeat("a", 128), Command: "x"}
	assert.OK(t, r.Validate())
	c, err := record.Read(t.Context(), record.NewMemoryStore(r), nil)
	if err != nil || c.Servers[0].Err != nil {
		t.Errorf("%v, %v", err, c.Servers[0].Err)
	}
}
