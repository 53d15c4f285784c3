package result

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/storage"
)

// What one program has cut is read in another one, by its owner alone.
func TestReadElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opts := &Options{Store: storage.NewMemory(), Wrap: true}
		a, b := New(opts), New(opts)
		ann := onbehalf.WithConversation(onbehalf.With(t.Context(), "ann"), "1")
		res := resultOf(textBlock(strings.Repeat("<&> long \u2028 ", 5000)),
			&mcp.ImageContent{MIMEType: "image/png", Data: make([]byte, 101)},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///b", Blob: []byte("blob")}})
		res.StructuredContent = json.RawMessage(`{"n":12345678901234567890}`)
		handle := handleIn(t, a.Shape(ann, stranger(), res))
		read := func(ctx context.Context, r *Shaper, args string) string {
			text := Text(callReader(t, ctx, r, json.RawMessage(fmt.Sprintf(`{"handle":%q%s}`, strings.ToLower(handle), args))))
			if _, rest, ok := strings.Cut(text, `nonce="`); ok { // which is another one each time
				nonce, _, _ := strings.Cut(rest, `"`)
				text = strings.ReplaceAll(text, nonce, "nonce")
			}
			return text
		}
		for _, args := range []string{``, `,"offset":100,"limit":50`, `,"block":1`, `,"block":2`, `,"block":3`, `,"block":4`} {
			assert.Equal(t, read(ann, b, args), read(ann, a, args), "%s elsewhere", args)
		}
		assert.Contains(t, read(ann, b, `,"block":3`), `{"n":12345678901234567890}`)
		for _, ctx := range []context.Context{t.Context(), onbehalf.With(t.Context(), "ann"), onbehalf.WithConversation(onbehalf.With(t.Context(), "bob"), "1")} {
			assert.Contains(t, read(ctx, b, ``), "there is no result with this handle", "another reads")
		}
		for _, bad := range []string{"", "X", "../" + handle, strings.Repeat("A", 300), strings.Repeat("A", 26) + "/"} {
			assert.Contains(t, Text(b.Read(ann, ReadArgs{Handle: bad})), "there is no result with this handle", "%q", bad)
		}
	})
}

// A record goes with the result, also that of a program that has died.
func TestRecordsGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storage.NewMemory()
		records := func() (n int) {
			for _, err := range store.Names(t.Context(), "") {
				assert.OK(t, err)
				n++
			}
			return n
		}
		long := resultOf(textBlock(strings.Repeat("x", 40000)))
		shape := func(r *Shaper) string { return handleIn(t, r.Shape(t.Context(), stranger(), long)) }
		left := shape(New(&Options{Store: store})) // a program that dies
		b := keptBounds()
		b.results = 1
		r := newShaper(Options{Store: store}, b)
		shape(r)
		last := shape(r) // there is no room for the first
		assert.Equal(t, records(), 2, "records")
		time.Sleep(time.Hour)
		other := New(&Options{Store: store})
		for _, handle := range []string{left, last} {
			assert.Contains(t, Text(other.Read(t.Context(), ReadArgs{Handle: handle})), "there is no result", "of one that has expired")
		}
		time.Sleep(2 * time.Hour)
		shape(r)
		assert.Equal(t, records(), 1, "records after three hours")
	})
}

var errAway = errors.New("away")

// awayStore is a store that is out of reach.
type awayStore struct{ storage.Store }

func (awayStore) Load(context.Context, string, storage.Revision) (storage.Record, error) {
	return storage.Record{}, errAway
}

func (awayStore) Save(context.Context, string, []byte, storage.Revision) (storage.Revision, error) {
	return "", errAway
}

// While the store is away results are kept here, and those of others are said to be out of reach.
func TestShelfAway(t *testing.T) {
	store := storage.NewMemory()
	long := resultOf(textBlock(strings.Repeat("x", 40000)))
	elsewhere := handleIn(t, New(&Options{Store: store}).Shape(t.Context(), stranger(), long))
	r := New(&Options{Store: awayStore{store}})
	assert.Contains(t, Text(r.Read(t.Context(), ReadArgs{Handle: handleIn(t, r.Shape(t.Context(), stranger(), long))})), "xxx")
	assert.Contains(t, Text(r.Read(t.Context(), ReadArgs{Handle: elsewhere})), "out of reach at the moment")
}
