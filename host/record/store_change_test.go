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
	s := record.NewMemoryStore(&config.Server{Name: "a b", Command: "x"})
	for name, want := range map[string]string{"a b": "name_taken name", "a_b": "name_taken name", "a.b": "name_taken name", "": "name_required name", "c": ""} {
		assert.Equal(t, codes(assert.Err(record.Add(t.Context(), s, &config.Server{Name: name, Command: "x"}))), want, "%q", name)
	}
	_, err := record.Add(t.Context(), s, &config.Server{Name: "d", Command: "x", Env: map[string]config.Secret{"K": "****abcd"}})
	assert.Equal(t, codes(err), "mask_unmatched env.K")
	all, _ := s.Records(t.Context())
	assert.Equal(t, len(all), 2)
}

func TestUpdateRecord(t *testing.T) {
	s := record.NewMemoryStore(&config.Server{Name: "a b", Command: "x"}, &config.Server{Name: "c", Command: "y"})
	before, after, err := record.Update(t.Context(), s, "a_b", &record.Patch{Keys: []string{"description"}, Values: config.Server{Description: "new"}})
	assert.OK(t, err)
	assert.Equal(t, before.Record.Description+" then "+after.Record.Description, " then new")
	assert.False(t, after.Revision == before.Revision, "the same revision")
	_, same, err := record.Update(t.Context(), s, "a b", &record.Patch{Keys: []string{"description"}, Values: config.Server{Description: "new"}, Revision: after.Revision})
	assert.OK(t, err)
	assert.Equal(t, same.Revision, after.Revision, "what changed nothing")
	for _, test := range []struct {
		name  string
		patch *record.Patch
		want  string
	}{
		{"a b", &record.Patch{Keys: []string{"description"}, Values: config.Server{Description: "newer"}, Revision: before.Revision}, "conflict"},
		{"c", &record.Patch{Keys: []string{"name"}, Values: config.Server{Name: "a.b"}}, "name_taken name"},
		{"a b", &record.Patch{Keys: []string{"name"}, Values: config.Server{Name: "a.b"}}, ""},
		{"a_b", nil, ""},
		{"none", nil, "not_found"},
	} {
		_, _, err := record.Update(t.Context(), s, test.name, test.patch)
		assert.Equal(t, codes(err), test.want, "%s", test.name)
	}
}

// racing is a store in which another person changes what is about to be saved.
type racing struct {
	record.Store
	times int
}

func (r *racing) Save(ctx context.Context, name string, next *config.Server, old record.Revision) (record.Revision, error) {
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
	s := &racing{record.NewMemoryStore(&config.Server{Name: "a", Command: "x"}), 3}
	_, after, err := record.Update(t.Context(), s, "a", &record.Patch{Keys: []string{"description"}, Values: config.Server{Description: "ours"}})
	assert.OK(t, err)
	assert.Equal(t, strings.Join(after.Record.Args, " "), "theirs theirs theirs")
	assert.Equal(t, after.Record.Description, "ours")
	s.times = 1
	_, _, err = record.Update(t.Context(), s, "a", &record.Patch{Keys: []string{"description"}, Values: config.Server{Description: "again"}, Revision: after.Revision})
	assert.Equal(t, codes(err), "conflict")
}

func TestRemoveRecord(t *testing.T) {
	s := record.NewMemoryStore(&config.Server{Name: "a b", Command: "x"}, &config.Server{Name: "own", Command: "x", Builtin: true})
	assert.Equal(t, codes(assert.Err(record.Remove(t.Context(), s, "own"))), "builtin_readonly")
	assert.Equal(t, assert.Value(record.Remove(t.Context(), s, "a_b"))(t).Record.Title, "a b")
	assert.Equal(t, codes(assert.Err(record.Remove(t.Context(), s, "a b"))), "not_found")
}

// A name that a record may have is one that a server can have.
func TestLongestNameCanBeUsed(t *testing.T) {
	r := &config.Server{Name: strings.Repeat("a", 128), Command: "x"}
	assert.OK(t, record.Validate(r))
	assert.OK(t, assert.Value(record.Read(t.Context(), record.NewMemoryStore(r), nil))(t).Servers[0].Err)
}

// What was removed comes back, unless another has its name by now.
func TestRestoreRecord(t *testing.T) {
	s := record.NewMemoryStore(&config.Server{Name: "a b", Command: "x"})
	removed := assert.Value(record.Remove(t.Context(), s, "a_b"))(t)
	other := assert.Value(record.Add(t.Context(), s, &config.Server{Name: "a.b", Command: "y"}))(t)
	assert.Equal(t, codes(assert.Err(record.Restore(t.Context(), s, removed.ID))), "name_taken name")
	assert.Value(record.Remove(t.Context(), s, other.ID))(t)
	assert.Equal(t, assert.Value(record.Restore(t.Context(), s, removed.ID))(t).Record.Command, "x")
	assert.Equal(t, codes(assert.Err(record.Restore(t.Context(), s, removed.ID))), "not_found")
	assert.Fails(t, assert.Err(record.Restore(t.Context(), nil, removed.ID)), "of no store")
}
