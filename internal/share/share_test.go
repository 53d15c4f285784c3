package share

import (
	"math/rand/v2"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestBook(t *testing.T) {
	b := Book{Max: Amount{Count: 8, Bytes: 800}}
	assert.True(t, !b.Exceeds(Owner{}, 4) && !b.Exceeds(Owner{User: "ann"}, 4) && !b.Full(), "an empty book has nothing in it")
	ann := Owner{"ann", "s"}
	b.Add(ann, 150)
	b.Add(ann, 50)
	assert.False(t, b.Exceeds(ann, 4), "just a share is more than one")
	b.Add(ann, 0)
	for _, o := range []Owner{ann, {User: "ann"}, {Server: "s"}} {
		assert.True(t, b.Exceeds(o, 4), "%+v: more than a share in numbers", o)
		assert.False(t, b.Exceeds(o, 2), "%+v: more than a half", o)
	}
	b.Remove(ann, 0)
	b.Add(Owner{User: "ben"}, 201)
	assert.True(t, b.Exceeds(Owner{User: "ben"}, 4), "more than a share in bytes")
	b.Add(Owner{}, 399)
	assert.True(t, !b.Exceeds(Owner{}, 4) && !b.Full(), "what is nobody's exceeds no share, and the book is not full")
	b.Add(Owner{}, 1)
	assert.True(t, b.Full(), "no room beside %+v", b.Total())
	for o, bytes := range map[Owner]int{ann: 150, {User: "ben"}: 201, {}: 399} {
		b.Remove(o, bytes)
	}
	b.Remove(ann, 50)
	b.Remove(Owner{}, 1)
	assert.True(t, b.Total() == (Amount{}) && len(b.held) == 0, "%+v and %d owners are nothing", b.Total(), len(b.held))
	assert.Equal(t, b.Share(100), (Amount{1, 8}), "a share of")
	unbound := Book{}
	unbound.Add(ann, 1<<40)
	assert.True(t, !unbound.Full() && !unbound.Exceeds(ann, 4), "a book without a bound is not full")
}

func TestFirst(t *testing.T) {
	for name, test := range map[string]struct {
		owners []Owner
		want   int
	}{
		"all are within their shares": {[]Owner{{"a", "r"}, {"b", "s"}, {"c", "t"}}, 0},
		"a user":                      {[]Owner{{"b", ""}, {"a", ""}, {"a", ""}, {"a", ""}}, 1},
		"a server":                    {[]Owner{{"a", "r"}, {"b", "s"}, {"c", "s"}, {"d", "s"}}, 1},
		"both":                        {[]Owner{{"a", "r"}, {"a", "r"}, {"a", "s"}, {"b", "s"}, {"c", "s"}}, 2},
		"nobody":                      {[]Owner{{}, {}, {}, {}}, 0},
	} {
		b := Book{Max: Amount{Count: 8}}
		for _, o := range test.owners {
			b.Add(o, 0)
		}
		assert.Equal(t, First(&b, slices.All(test.owners)), test.want, "%s: got element", name)
	}
}

// The first to go is found without a look at all of them, and is the same.
func TestFirstOfManyOwners(t *testing.T) {
	type thing struct {
		owner Owner
		bytes int
	}
	book := Book{Max: Amount{Count: 20, Bytes: 1_000}}
	random := rand.New(rand.NewPCG(1, 2))
	var things []thing
	for range assert.Cases(2_000, 20_000) {
		n := thing{Owner{User: []string{"", "ann", "ben", "eve"}[random.IntN(4)], Server: []string{"", "a", "b", "c"}[random.IntN(4)]}, random.IntN(120)}
		things = append(things, n)
		book.Add(n.owner, n.bytes)
		for book.Full() {
			want, most := 0, -1
			for i, x := range things {
				exceeded := 0
				for _, o := range []Owner{{User: x.owner.User}, {Server: x.owner.Server}} {
					if book.Exceeds(o, 4) {
						exceeded++
					}
				}
				if exceeded > most {
					want, most = i, exceeded
				}
			}
			got := First(&book, func(yield func(int, Owner) bool) {
				for i, x := range things {
					if !yield(i, x.owner) {
						return
					}
				}
			})
			if got != want {
				t.Fatalf("got %d, want %d", got, want)
			}
			book.Remove(things[got].owner, things[got].bytes)
			things = slices.Delete(things, got, got+1)
		}
	}
}
