package result

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/storage"
)

const (
	shelfPrefix = "result-"
	shelfTime   = 5 * time.Second  // for all that a call waits for of the store
	shelfSweep  = 10 * time.Minute // between two looks for what others left behind
	maxSwept    = 100              // records in one look
)

// A shelf keeps results in [Options].Store as well, for other programs. The hour after which
// a record is old is a part of its name, and of the handle, so that a look for old ones reads no other.
type shelf struct {
	store storage.Store

	mu    sync.Mutex
	saved map[string]storage.Revision // by the handles of the results that this program keeps
	swept time.Time
}

// A shelved is what is kept of a result.
type shelved struct {
	Named        bool               `json:"named,omitempty"`
	User         string             `json:"user,omitempty"`
	Conversation string             `json:"conversation,omitempty"`
	Server       string             `json:"server,omitempty"`
	Tool         string             `json:"tool,omitempty"`
	Trusted      bool               `json:"trusted,omitempty"`
	Expires      time.Time          `json:"expires"`
	Result       mcp.CallToolResult `json:"result"` // its blocks
}

// hourOf returns the part of a handle that says when a result expires.
func hourOf(expires time.Time) string {
	return strings.ToUpper(strconv.FormatInt(expires.Unix()/3600+1, 36))
}

// recordName returns the name of the record of a handle: random part and hour change places.
func recordName(handle string) string {
	const random = 26 // as rand.Text has
	if len(handle) <= random {
		return ""
	}
	return strings.ToLower(shelfPrefix + handle[random:] + "-" + handle[:random])
}

// isOld reports whether the hour of a record has passed.
func isOld(name string, now time.Time) bool {
	hour, _, _ := strings.Cut(strings.TrimPrefix(name, shelfPrefix), "-")
	n, err := strconv.ParseInt(hour, 36, 64)
	return err == nil && n < now.Unix()/3600
}

// shelvedOf returns what is kept of a result.
func shelvedOf(k *keptResult) *shelved {
	kept := &shelved{
		Named: k.owner.named, User: k.owner.user, Conversation: k.owner.conversation,
		Server: k.from.Server, Tool: k.from.Tool, Trusted: k.from.Trusted, Expires: k.expires.UTC(),
	}
	for _, b := range k.blocks {
		if b.other == nil {
			b.other = &mcp.TextContent{Text: b.text}
		}
		kept.Result.Content = append(kept.Result.Content, b.other)
	}
	return kept
}

// put saves a result, and deletes those that this program does not keep any more. What cannot be
// saved can be read in this program alone.
func (s *shelf) put(ctx context.Context, handle string, k *keptResult, dropped []string) {
	var data []byte
	if handle != "" {
		data, _ = json.Marshal(shelvedOf(k)) // nothing: what cannot be written
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shelfTime)
	defer cancel()
	for _, old := range dropped {
		s.mu.Lock()
		revision := s.saved[old]
		delete(s.saved, old)
		s.mu.Unlock()
		if revision != "" {
			_ = s.store.Delete(ctx, recordName(old), revision) // one that stays is swept
		}
	}
	s.sweep(ctx)
	if data == nil {
		return
	}
	if revision, err := s.store.Save(ctx, recordName(handle), data, ""); err == nil {
		s.mu.Lock()
		s.saved[handle] = revision
		s.mu.Unlock()
	}
}

// get returns the result of a handle that another program gave, nil if there is none for this owner.
func (s *shelf) get(ctx context.Context, handle string, by owner) (*keptResult, error) {
	name := recordName(handle)
	if storage.CheckName(name) != nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, shelfTime)
	defer cancel()
	r, err := s.store.Load(ctx, name, "")
	if errors.Is(err, storage.ErrNotFound) || errors.Is(err, storage.ErrDamaged) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var kept shelved
	if json.Unmarshal(r.Data, &kept) != nil {
		return nil, nil
	}
	k := &keptResult{
		owner: owner{kept.Named, kept.User, kept.Conversation},
		from:  From{kept.Server, kept.Tool, kept.Trusted}, expires: kept.Expires,
	}
	if k.owner != by || !time.Now().Before(k.expires) {
		return nil, nil
	}
	for _, c := range kept.Result.Content {
		k.blocks = append(k.blocks, keepBlock(c))
	}
	return k, nil
}

// sweep deletes, now and then, what has expired and was not deleted by its program.
func (s *shelf) sweep(ctx context.Context) {
	now := time.Now()
	s.mu.Lock()
	soon := now.Sub(s.swept) < shelfSweep
	if !soon {
		s.swept = now
	}
	s.mu.Unlock()
	if soon {
		return
	}
	n := 0
	for name, err := range s.store.Names(ctx, shelfPrefix) {
		if err != nil || n == maxSwept {
			return
		}
		if !isOld(name, now) {
			continue
		}
		n++
		if r, err := s.store.Load(ctx, name, ""); err == nil {
			_ = s.store.Delete(ctx, name, r.Revision)
		}
	}
}
