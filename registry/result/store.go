package result

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/lru"
	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/internal/share"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// An owner is who may read a result that is kept.
type owner struct {
	named               bool // there is a user
	owner, conversation string
}

func ownerOf(ctx context.Context) owner {
	_, named := onbehalf.User(ctx)
	return owner{named, onbehalf.Owner(ctx), onbehalf.ConversationOf(ctx)}
}

// A keptResult is a result that can be read again, block by block. It shares nothing with
// the result: what that was cut from may be far larger.
type keptResult struct {
	handle  string
	owner   owner
	from    From
	blocks  []keptBlock
	size    int // in memory
	expires time.Time
}

// A keptBlock is a text, or the JSON of a block of another kind.
type keptBlock struct {
	Text  string          `json:"text,omitempty"`
	Other json.RawMessage `json:"other,omitempty"` // nil: a text
}

// content returns the block of another kind.
func (b keptBlock) content() mcp.Content {
	var res mcp.CallToolResult
	if json.Unmarshal(slices.Concat([]byte(`{"content":[`), b.Other, []byte(`]}`)), &res) != nil || len(res.Content) == 0 {
		return &mcp.TextContent{Text: string(b.Other)} // cannot be: it was written here
	}
	return res.Content[0]
}

// share returns whose room a result takes.
func (k *keptResult) share() share.Owner {
	return share.Owner{User: k.owner.owner, Server: k.from.Server}
}

// A store keeps results for a time, within bounds. Nothing runs in the background: what has
// expired goes when the store is used next.
type store struct {
	keepFor time.Duration

	mu   sync.Mutex
	held share.Book // Max is not changed
	kept lru.Map[string, *keptResult]
}

func newStore(b bounds) *store {
	return &store{keepFor: b.keepFor, held: share.Book{Max: share.Amount{Count: b.results, Bytes: b.bytes}}}
}

// put keeps a result under a new handle, the hour when it expires and 110 random bits, and returns
// the results that went. The handle is empty if the result is larger than the store, or than a
// quarter of it and others need the room.
func (s *store) put(k *keptResult) (dropped []*keptResult) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	k.expires = now.Add(s.keepFor)
	k.handle = hourOf(k.expires) + rand.Text()[hourDigits:]
	dropped = s.expire(now)
	s.kept.Put(k.handle, k)
	s.held.Add(k.share(), k.size)
	for s.held.Full() {
		first := share.First(&s.held, s.unused)
		s.remove(first)
		if first == k {
			k.handle = ""
			return dropped
		}
		dropped = append(dropped, first)
	}
	return dropped
}

// unused yields the results, the one that was not used for the longest time first. It
// needs s.mu.
func (s *store) unused(yield func(*keptResult, share.Owner) bool) {
	for _, k := range s.kept.Oldest() {
		if !yield(k, k.share()) {
			return
		}
	}
}

// get returns the result of a handle if it is there and the owner's.
func (s *store) get(handle string, by owner) *keptResult {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire(time.Now())
	if k, ok := s.kept.Peek(handle); !ok || k.owner != by {
		return nil
	}
	k, _ := s.kept.Get(handle) // it is used by that
	return k
}

// expire drops what has expired. It needs s.mu.
func (s *store) expire(now time.Time) (dropped []*keptResult) {
	for _, k := range s.kept.Oldest() {
		if !now.Before(k.expires) {
			s.remove(k)
			dropped = append(dropped, k)
		}
	}
	return dropped
}

// remove forgets a result. It needs s.mu.
func (s *store) remove(k *keptResult) {
	s.kept.Delete(k.handle)
	s.held.Remove(k.share(), k.size)
}

// blockOverhead is what a block takes in memory beside what it holds.
const blockOverhead = 512

// keep keeps a result with its structured content, as the last block, and returns
// the handle; an empty one if there is no room for it.
func (r *Shaper) keep(ctx context.Context, from From, res *mcp.CallToolResult, raw json.RawMessage) string {
	k := &keptResult{owner: ownerOf(ctx), from: from, size: blockOverhead}
	add := func(b keptBlock) bool {
		k.blocks = append(k.blocks, b)
		k.size += blockOverhead + len(b.Text) + len(b.Other)
		return k.size <= r.bounds.bytes
	}
	for _, c := range res.Content {
		if !add(keepBlock(c)) {
			return ""
		}
	}
	if raw != nil && !add(keptBlock{Text: string(raw)}) {
		return ""
	}
	dropped := r.store.put(k)
	if r.shelf != nil {
		r.shelf.put(ctx, k, dropped)
	}
	return k.handle
}

func keepBlock(c mcp.Content) keptBlock {
	if !present(c) {
		return keptBlock{}
	}
	if text, ok := textIn(c); ok {
		return keptBlock{Text: strings.Clone(text)}
	}
	switch c.(type) {
	case *mcp.ImageContent, *mcp.AudioContent, *mcp.ResourceLink, *mcp.EmbeddedResource:
		return keptBlock{Other: json.RawMessage(otherText(c))}
	}
	return keptBlock{Text: otherText(c)}
}
