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
	_, err := record.Add(t.Context(), s, &record.Record{Name: "d", Command: "x", Env: map[string]config.Secret{"K": "sk-****abcd"}})
	assert.Equal(t, codes(err), "mask_unmatched env.K")
	all, _ := s.Records(t.Context())
	assert.Equal(t, len(all), 2)
}

func TestUpdateRecord(t *testing.T) {
	s := record.NewMemoryStore(&record.Record{Name: "a b", Command: "x"}, &record.Record{Name: "c", Command: "y"})
	before, after, err := record.Update(t.Context(), s, "a_b", &record.Patch{Description: record.Some("new")})
	if err != nil || before.Record.Description != "" || after.Record.Description != "new" || after.Revision == before.Revision {
		t.Errorf("%v, %v, %v", before, after, err)
	}
	_, _, err = record.Update(t.Context(), s, "a b", &record.Patch{Description: record.Some("newer"), Revision: before.Revision})
	assert.Equal(t, codes(err), "conflict")
	_, same, err := record.Update(t.Context(), s, "a b", &record.Patch{Description: record.Some("new"), Revision: after.Revision})
	assert.OK(t, err, "what changed nothing was saved")
	assert.Equal(t, same.Revision, after.Revision, "what changed nothing was saved")
	_, _, err = record.Update(t.Context(), s, "c", &record.Patch{Name: record.Some("a.b")})
	assert.Equal(t, codes(err), "name_taken name")
	_, _, err = record.Update(t.Context(), s, "a b", &record.Patch{Name: record.Some("a.b")})
	assert.OK(t, err)
	_, _, err = record.Update(t.Context(), s, "a_b", nil)
	assert.OK(t, err)
	_, _, err = record.Update(t.Context(), s, "none", nil)
	assert.Equal(t, codes(err), "not_found")
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
	assert.OK(t, err)
	assert.Equal(t, strings.Join(after.Record.Args, " "), "theirs theirs theirs")
	assert.Equal(t, after.Record.Description, "ours")
	s.times = 1
	_, _, err = record.Update(t.Context(), s, "a", &record.Patch{Description: record.Some("again"), Revision: after.Revision})
	assert.Equal(t, codes(err), "conflict")
}

func TestRemoveRecord(t *testing.T) {
	s := record.NewMemoryStore(&record.Record{Name: "a b", Command: "x"}, &record.Record{Name: "own", Command: "x", Builtin: true})
	_, err := record.Remove(t.Context(), s, "own")
	assert.Equal(t, codes(err), "builtin_readonly")
	assert.Equal(t, assert.Value(record.Remove(t.Context(), s, "a_b"))(t).Record.Name, "a b")
	_, err = record.Remove(t.Context(), s, "a b")
	assert.Equal(t, codes(err), "not_found")
}

// A name that a record may have is one that a server can have.
func TestLongestNameCanBeUsed(t *testing.T) {
	r := &record.Record{Name: strings.Repeat("a", 128), Command: "x"}
	assert.OK(t, r.Validate())
	c, err := record.Read(t.Context(), record.NewMemoryStore(r), nil)
	assert.OK(t, err)
	assert.OK(t, c.Servers[0].Err)
}
