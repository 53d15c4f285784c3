// Tests of store.go, shelf.go and read.go: results that are kept.

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
	"github.com/mcpbelt/mcpbelt/internal/share"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/storage"
)

// A kept result is for the user and the conversation of its call alone.
func TestHandlesOfOthers(t *testing.T) {
	r := New(&Options{})
	as := func(user, conversation string) context.Context {
		ctx := t.Context()
		if user != "-" {
			ctx = onbehalf.With(ctx, user)
		}
		return onbehalf.WithConversation(ctx, conversation)
	}
	got := r.Shape(as("ann", "1"), stranger(), resultOf(textBlock(strings.Repeat("private ", 10000))))
	handle := handleIn(t, got)
	read := func(ctx context.Context, handle string) string {
		res := callReader(t, ctx, r, json.RawMessage(fmt.Sprintf(`{"handle":%q,"limit":7}`, handle)))
		assert.False(t, res.IsError == strings.Contains(Text(res), "private"), "IsError says the same as the text")
		return Text(res)
	}
	assert.Contains(t, read(as("ann", "1"), handle), "private", "the owner reads")
	unknown := read(as("ann", "1"), strings.Repeat("A", 26))
	for _, ctx := range []context.Context{as("bob", "1"), as("ann", "2"), as("-", "1"), as("", "1"), t.Context()} {
		assert.Equal(t, read(ctx, handle), unknown, "another reads")
	}
}

func TestKeptForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New(&Options{KeepFor: time.Minute})
		ctx := t.Context()
		handle := handleIn(t, r.Shape(ctx, stranger(), resultOf(textBlock(strings.Repeat("x", 40000)))))
		args := json.RawMessage(`{"handle":"` + handle + `"}`)
		time.Sleep(time.Minute - time.Nanosecond)
		assert.False(t, callReader(t, ctx, r, args).IsError, "expired too early")
		time.Sleep(time.Nanosecond)
		assert.True(t, callReader(t, ctx, r, args).IsError, "expired")
		assert.Equal(t, r.store.held.Total(), share.Amount{}, "what a store holds")
		assert.Equal(t, r.store.used.Len(), 0, "what a store holds")
		assert.Equal(t, len(r.store.byHandle), 0, "handles of a store")
	})
}

// The store stays within its bounds whatever is put there, and forgets what was
// not used for the longest time.
func TestStoreIsBounded(t *testing.T) {
	r := New(&Options{KeepBytes: 1 << 20, KeepResults: 5, MaxBytes: 1024})
	shape := func(n int) string {
		got := r.Shape(t.Context(), stranger(), resultOf(textBlock(strings.Repeat("x", n))))
		total := 0
		for _, e := range r.store.byHandle {
			total += e.Value.(*stored).size
		}
		want := (share.Amount{Count: len(r.store.byHandle), Bytes: total})
		assert.Equal(t, r.store.held.Total(), want)
		wantBetween(t, total, 0, 1<<20, "bytes")
		wantBetween(t, want.Count, 0, 5, "count")
		assert.Equal(t, r.store.used.Len(), want.Count)
		if m := handles.FindStringSubmatch(Text(got)); m != nil {
			return m[1]
		}
		assert.Contains(t, Text(got), "were not kept")
		return ""
	}
	there := func(handle string) bool { return r.store.get(handle, owner{}) != nil }
	first, second := shape(2000), shape(2000)
	for range 3 {
		shape(2000)
	}
	assert.True(t, there(first), "the first is kept")
	shape(2000)
	assert.True(t, there(first), "the one that was used is kept")
	assert.False(t, there(second), "the one that was not used is kept")
	large := shape(1 << 19)
	assert.True(t, there(large), "what fits is kept")
	assert.True(t, there(first), "what fits is kept")
	assert.True(t, there(shape(900<<10)), "a larger one is kept")
	assert.False(t, there(large), "the one that was not used for the longest time is kept")
	assert.True(t, there(first), "the one that was used since is kept")
	assert.Equal(t, shape(1<<20), "", "what does not fit is kept")
	if r := New(&Options{KeepBytes: -1}); r.Keeps() {
		t.Error("there is a tool to read what is never kept")
	} else if text := Text(r.Shape(t.Context(), stranger(), resultOf(textBlock(strings.Repeat("x", 1<<20))))); !strings.Contains(text, "were not kept") {
		t.Errorf("got %.300s", text)
	}

	// What only looks small counts as well.
	meta := mcp.Meta{"a": strings.Repeat("x", 1<<20)}
	got := r.Shape(t.Context(), stranger(), resultOf(textBlock(strings.Repeat("x", 5000)), &mcp.ImageContent{Meta: meta}))
	assert.Contains(t, Text(got), "were not kept", "a result with a large _meta is kept")
}

// One user, or one server, who fills the store pushes out none of another, and goes on
// keeping results of their own.
func TestKeptResultsAreShared(t *testing.T) {
	users := func(user, server string) (context.Context, From) {
		e := stranger()
		e.Server = server
		ctx := t.Context()
		if user != "" {
			ctx = onbehalf.With(ctx, user)
		}
		return ctx, e
	}
	for name, test := range map[string]struct {
		user, server, floods, from string
		size                       int
	}{
		"a user, by number":      {"ann", "a", "eve", "a", 2000},
		"a user, by size":        {"ann", "a", "eve", "a", 200 << 10},
		"a server, by number":    {"", "a", "", "b", 2000},
		"a server, by size":      {"", "a", "", "b", 200 << 10},
		"a server, for one user": {"ann", "a", "ann", "b", 200 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			r := New(&Options{KeepBytes: 1 << 20, KeepResults: 20, MaxBytes: 1024})
			keep := func(user, server string, size int) (there func() bool) {
				ctx, e := users(user, server)
				handle := handleIn(t, r.Shape(ctx, e, resultOf(textBlock(strings.Repeat("x", size)))))
				return func() bool { return r.store.get(handle, ownerOf(ctx)) != nil }
			}
			other := keep(test.user, test.server, 2000)
			var last func() bool
			for range 50 {
				last = keep(test.floods, test.from, test.size)
			}
			assert.True(t, other(), "the result of another is kept")
			assert.True(t, last(), "the last result is kept")
		})
	}
}

// A result that is larger than a share is kept as long as nobody else needs the room,
// and pushes out nobody who has less than a share.
func TestKeptResultBeyondAShare(t *testing.T) {
	r := New(&Options{KeepBytes: 1 << 20, MaxBytes: 1024})
	keep := func(user string, size int) string {
		e := stranger()
		e.Server = ""
		text := Text(r.Shape(onbehalf.With(t.Context(), user), e, resultOf(textBlock(strings.Repeat("x", size)))))
		if m := handles.FindStringSubmatch(text); m != nil {
			return m[1]
		}
		return ""
	}
	there := func(user, handle string) bool { return r.store.get(handle, owner{true, user, ""}) != nil }
	large := keep("eve", 900<<10)
	assert.True(t, there("eve", large), "a large result is kept while there is room")
	ann, ben := keep("ann", 100<<10), keep("ben", 200<<10)
	assert.False(t, there("eve", large), "the large result is kept")
	assert.True(t, there("ann", ann), "the result of ann is kept")
	assert.True(t, there("ben", ben), "the result of ben is kept")
	assert.Equal(t, keep("eve", 900<<10), "", "a large result is kept in the place of others")
	assert.True(t, there("ann", ann), "the result of ann is still kept")
	assert.True(t, there("ben", ben), "the result of ben is still kept")
}

// A negative limit means that there is none.
func TestNegativeLimitsAreNone(t *testing.T) {
	o := Options{KeepResults: -1, KeepFor: -1}.filled()
	assert.Equal(t, o.KeepResults, noLimit, "KeepResults")
	assert.Equal(t, o.KeepFor, forever, "KeepFor")
}

// namesIn returns the names of all records.
func namesIn(t *testing.T, store storage.Store) (names []string) {
	t.Helper()
	for name, err := range store.Names(context.Background(), "") {
		assert.OK(t, err)
		names = append(names, name)
	}
	return names
}

// What one program has cut is read in another one, by its owner alone.
func TestReadElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opts := &Options{Store: storage.NewMemory(), Wrap: true, MaxMedia: 100}
		a, b := New(opts), New(opts)
		ann := onbehalf.WithConversation(onbehalf.With(t.Context(), "ann"), "1")
		res := resultOf(textBlock(strings.Repeat("<&> long \u2028 ", 5000)),
			&mcp.ImageContent{MIMEType: "image/png", Data: make([]byte, 101)}, &mcp.AudioContent{MIMEType: "audio/ogg", Data: make([]byte, 101)},
			&mcp.ResourceLink{URI: "file:///a", Name: "a"},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///b", Blob: []byte("blob")}})
		res.StructuredContent = json.RawMessage(`{"n":12345678901234567890}`)
		handle := handleIn(t, a.Shape(ann, stranger(), res))
		read := func(ctx context.Context, r *Shaper, args string) string {
			return Text(callReader(t, ctx, r, json.RawMessage(fmt.Sprintf(`{"handle":%q%s}`, strings.ToLower(handle), args))))
		}
		for _, args := range []string{``, `,"offset":100,"limit":50`, `,"block":1`, `,"block":2`, `,"block":3`, `,"block":4`, `,"block":5`, `,"block":6`} {
			assert.Equal(t, cut(read(ann, b, args)), cut(read(ann, a, args)), "%s elsewhere", args)
		}
		assert.Contains(t, read(ann, b, `,"block":5`), `{"n":12345678901234567890}`)
		for _, ctx := range []context.Context{t.Context(), onbehalf.With(t.Context(), "ann"), onbehalf.WithConversation(onbehalf.With(t.Context(), "bob"), "1")} {
			assert.Contains(t, read(ctx, b, ``), "there is no result with this handle", "another reads")
		}
		for _, bad := range []string{"X", "../" + handle, strings.Repeat("A", 300), strings.Repeat("A", 26) + "/"} {
			assert.Contains(t, Text(b.Read(ann, ReadArgs{Handle: bad})), "there is no result with this handle", "%q", bad)
		}
	})
}

// cut returns a text without its nonces.
func cut(text string) string {
	for {
		_, rest, ok := strings.Cut(text, `nonce="`)
		if !ok {
			return text
		}
		nonce, _, _ := strings.Cut(rest, `"`)
		text = strings.ReplaceAll(text, `nonce="`+nonce, "nonce")
	}
}

// A record goes with the result, also that of a program that has died.
func TestRecordsGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storage.NewMemory()
		long := resultOf(textBlock(strings.Repeat("x", 40000)))
		shape := func(r *Shaper) string { return handleIn(t, r.Shape(t.Context(), stranger(), long)) }
		died := New(&Options{Store: store})
		left := shape(died)
		r := New(&Options{Store: store, KeepResults: 1})
		shape(r)
		last := shape(r) // there is no room for the first
		assert.Equal(t, len(namesIn(t, store)), 2, "records")
		time.Sleep(time.Hour)
		other := New(&Options{Store: store})
		for _, handle := range []string{left, last} {
			assert.Contains(t, Text(other.Read(t.Context(), ReadArgs{Handle: handle})), "there is no result", "of one that has expired")
		}
		time.Sleep(2 * time.Hour)
		shape(r)
		assert.Equal(t, len(namesIn(t, store)), 1, "records after three hours")
	})
}

// awayStore is a store that is out of reach.
type awayStore struct{ storage.Store }

var errAway = errors.New("away")

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

// A caller that changes what it has read does not change what is kept.
func TestReadBlocksAreCopies(t *testing.T) {
	r := New(&Options{})
	res := &mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{Data: []byte("image"), MIMEType: "image/png"}}}
	handle := r.keep(t.Context(), From{}, res, nil)
	for range 2 {
		image := r.Read(t.Context(), ReadArgs{Handle: handle}).Content[1].(*mcp.ImageContent)
		assert.Equal(t, string(image.Data)+" "+image.MIMEType, "image image/png", "read")
		image.Data[0], image.MIMEType = 'I', "text/plain"
	}
}

func TestReadRefuses(t *testing.T) {
	r := New(&Options{})
	handle := handleIn(t, r.Shape(t.Context(), stranger(), resultOf(textBlock(strings.Repeat("x", 40000)), textBlock(""))))
	for args, want := range map[string]string{
		`"block":2`:                        "block 2 does not exist; the result has the blocks 0 to 1",
		`"block":-1`:                       "block -1 does not exist",
		`"offset":40000`:                   "there is nothing from offset 40000 on",
		`"offset":9223372036854775807`:     "there is nothing from offset",
		`"offset":-1`:                      "must not be negative",
		`"limit":-1`:                       "must not be negative",
		`"offset":39999,"limit":1`:         "[bytes 39999-40000 of 40000, block 0; this is the end of the block]\nx",
		`"limit":9223372036854775807`:      "go on with offset",
		`"block":1`:                        "[bytes 0-0 of 0, block 1; this is the end of the block]\n",
		`"offset":1,"limit":2,"block":0  `: "[bytes 1-3 of 40000, block 0; go on with offset 3]\nxx",
	} {
		got := Text(callReader(t, t.Context(), r, json.RawMessage(`{"handle":"`+handle+`",`+args+`}`)))
		assert.Contains(t, got, want, "%s", args)
		if strings.Contains(want, "[bytes") {
			assert.Equal(t, got, want, "%s", args)
		}
		wantBetween(t, len(got), 0, r.limit.bytes, "%s: bytes", args)
	}
}
