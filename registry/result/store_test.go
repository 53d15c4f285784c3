// Tests of store.go and read.go: results that are kept.

package result

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/internal/share"
	"github.com/mcpbelt/mcpbelt/mcp"
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
	handle := handleIn(t, r.Shape(as("ann", "1"), stranger(), resultOf(textBlock(strings.Repeat("private ", 10000)))))
	read := func(ctx context.Context, handle string) string {
		res := callReader(t, ctx, r, json.RawMessage(fmt.Sprintf(`{"handle":%q,"limit":7}`, handle)))
		assert.False(t, res.IsError == strings.Contains(Text(res), "private"), "IsError says the same as the text")
		return Text(res)
	}
	assert.Contains(t, read(as("ann", "1"), handle), "private", "the owner reads")
	unknown := read(as("ann", "1"), strings.Repeat("A", 26))
	for _, ctx := range []context.Context{as("bob", "1"), as("ann", "2"), as("-", "1"), as("", "1"), t.Context(), onbehalf.WithOwner(t.Context(), "key")} {
		assert.Equal(t, read(ctx, handle), unknown, "another reads")
	}
	key := onbehalf.WithOwner(t.Context(), "key")
	handle = handleIn(t, r.Shape(key, stranger(), resultOf(textBlock(strings.Repeat("private ", 10000)))))
	assert.Contains(t, read(key, handle), "private", "a key without a user reads")
	assert.Equal(t, read(onbehalf.WithOwner(t.Context(), "other"), handle), unknown, "another key reads")
}

func TestKeptForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := keptBounds()
		b.keepFor = time.Minute
		r := newShaper(Options{}, b)
		ctx := t.Context()
		args := json.RawMessage(`{"handle":"` + handleIn(t, r.Shape(ctx, stranger(), resultOf(textBlock(strings.Repeat("x", 40000))))) + `"}`)
		time.Sleep(time.Minute - time.Nanosecond)
		assert.False(t, callReader(t, ctx, r, args).IsError, "expired too early")
		time.Sleep(time.Nanosecond)
		assert.True(t, callReader(t, ctx, r, args).IsError, "expired")
		assert.Equal(t, r.store.held.Total(), share.Amount{}, "what a store holds")
		assert.Equal(t, r.store.kept.Len(), 0, "what a store holds")
	})
}

// smallShaper keeps so many results, and 1 MiB.
func smallShaper(results int) *Shaper {
	b := keptBounds()
	b.bytes, b.results = 1<<20, results
	return newShaper(Options{MaxBytes: 1024}, b)
}

// The store stays within its bounds whatever is put there, and forgets what was
// not used for the longest time.
func TestStoreIsBounded(t *testing.T) {
	r := smallShaper(5)
	shape := func(n int) string {
		got := r.Shape(t.Context(), stranger(), resultOf(textBlock(strings.Repeat("x", n))))
		total := 0
		for _, k := range r.store.kept.Oldest() {
			total += k.size
		}
		want := (share.Amount{Count: r.store.kept.Len(), Bytes: total})
		assert.Equal(t, r.store.held.Total(), want)
		assert.Between(t, total, 0, 1<<20, "bytes")
		assert.Between(t, want.Count, 0, 5, "count")
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
			r := smallShaper(20)
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
	r := smallShaper(1000)
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
		assert.Between(t, len(got), 0, r.maxBytes, "%s: bytes", args)
	}
}
