package result

import (
	"bytes"
	"container/list"
	"context"
	"crypto/rand"
	"encoding/json"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/internal/share"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// A resultOwner is who may read a result that is kept.
type owner struct {
	named              bool // there is a user
	user, conversation string
}

func ownerOf(ctx context.Context) owner {
	user, named := onbehalf.User(ctx)
	return owner{named, user, onbehalf.ConversationOf(ctx)}
}

// A keptResult is a result that can be read again, block by block. Its texts and
// bytes are copies: what they were cut from may be far larger.
type keptResult struct {
	owner   owner
	from    From
	blocks  []keptBlock
	size    int // in memory
	expires time.Time
}

// A keptBlock is a text, or a block of another kind.
type keptBlock struct {
	text  string
	other mcp.Content // nil: a text
}

// A resultStore keeps results for a time, within a bound of memory. Nothing runs
// in the background: what has expired goes when the store is used next.
type store struct {
	ttl   time.Duration
	dated bool // handles say when they expire, see hourOf

	mu       sync.Mutex
	held     share.Book // Max is not changed
	byHandle map[string]*list.Element
	used     *list.List // of *stored, the one that was used last in front
	aged     *list.List // of the elements of used, the one that expires first in front
}

type stored struct {
	handle string
	aged   *list.Element
	*keptResult
}

func newStore(maxBytes, maxCount int, ttl time.Duration) *store {
	most := share.Amount{Count: maxCount, Bytes: maxBytes}
	return &store{ttl: ttl, held: share.Book{Max: most}, byHandle: map[string]*list.Element{}, used: list.New(), aged: list.New()}
}

// put keeps a result and returns its handle, 128 random bits that tell nothing, and the handles
// of those that went. The handle of a result is empty if it is larger than the store, or than a
// quarter of it and others need the room.
func (s *store) put(k *keptResult) (handle string, dropped []string) {
	if k.size > s.held.Max.Bytes {
		return "", nil
	}
	handle = rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now() // with the lock, so that the last to come is the last to expire
	k.expires = now.Add(s.ttl)
	if s.dated {
		handle += hourOf(k.expires)
	}
	dropped = s.expire(now)
	kept := &stored{handle: handle, keptResult: k}
	e := s.used.PushFront(kept)
	kept.aged = s.aged.PushBack(e)
	s.byHandle[handle] = e
	s.held.Add(k.share(), k.size)
	for s.held.Full() {
		first := share.First(&s.held, s.unused)
		gone := s.drop(first)
		if first == e {
			return "", dropped
		}
		dropped = append(dropped, gone)
	}
	return handle, dropped
}

// unused yields the results, the one that was not used for the longest time first. It
// needs s.mu.
func (s *store) unused(yield func(*list.Element, share.Owner) bool) {
	for e := s.used.Back(); e != nil; e = e.Prev() {
		if !yield(e, e.Value.(*stored).share()) {
			return
		}
	}
}

// share returns whose room a result takes.
func (k *keptResult) share() share.Owner {
	return share.Owner{User: k.owner.user, Server: k.from.Server}
}

// get returns the result of a handle if it is there and the owner's.
func (s *store) get(handle string, by owner) *keptResult {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire(now)
	e, ok := s.byHandle[handle]
	if !ok {
		return nil
	}
	k := e.Value.(*stored)
	if k.owner != by {
		return nil
	}
	s.used.MoveToFront(e)
	return k.keptResult
}

// expire drops what has expired, and returns its handles. It needs s.mu.
func (s *store) expire(now time.Time) (dropped []string) {
	for first := s.aged.Front(); first != nil; first = s.aged.Front() {
		e := first.Value.(*list.Element)
		if now.Before(e.Value.(*stored).expires) {
			return dropped
		}
		dropped = append(dropped, s.drop(e))
	}
	return dropped
}

// drop forgets one result, and returns its handle. It needs s.mu.
func (s *store) drop(e *list.Element) string {
	k := s.used.Remove(e).(*stored)
	s.aged.Remove(k.aged)
	delete(s.byHandle, k.handle)
	s.held.Remove(k.share(), k.size)
	return k.handle
}

// keep keeps a result with its structured content, as the last block, and returns
// the handle; an empty one if it is not kept.
func (r *Shaper) keep(ctx context.Context, from From, res *mcp.CallToolResult, raw json.RawMessage) string {
	if r.store == nil {
		return ""
	}
	// It is measured before it is copied.
	most := r.store.held.Max.Bytes
	total := len(raw) + blockOverhead
	for _, c := range res.Content {
		if total += memoryOf(c, most); total > most {
			return ""
		}
	}
	k := &keptResult{owner: ownerOf(ctx), from: from, size: total}
	for _, c := range res.Content {
		k.blocks = append(k.blocks, keepBlock(c))
	}
	if raw != nil {
		k.blocks = append(k.blocks, keptBlock{text: string(raw)})
	}
	handle, dropped := r.store.put(k)
	if r.shelf != nil {
		r.shelf.put(ctx, handle, k, dropped)
	}
	return handle
}

func keepBlock(c mcp.Content) keptBlock {
	if !present(c) {
		return keptBlock{}
	}
	if text, ok := textIn(c); ok {
		return keptBlock{text: strings.Clone(text)}
	}
	switch c := c.(type) {
	case *mcp.ImageContent:
		block := *c
		block.Data, block.Meta = bytes.Clone(c.Data), maps.Clone(c.Meta)
		return keptBlock{other: &block}
	case *mcp.AudioContent:
		block := *c
		block.Data, block.Meta = bytes.Clone(c.Data), maps.Clone(c.Meta)
		return keptBlock{other: &block}
	case *mcp.ResourceLink:
		block := *c
		block.Meta = maps.Clone(c.Meta)
		return keptBlock{other: &block}
	case *mcp.EmbeddedResource:
		contents := *c.Resource
		contents.Blob, contents.Meta = bytes.Clone(contents.Blob), maps.Clone(contents.Meta)
		block := *c
		block.Resource, block.Meta = &contents, maps.Clone(c.Meta)
		return keptBlock{other: &block}
	}
	return keptBlock{text: otherText(c)}
}
