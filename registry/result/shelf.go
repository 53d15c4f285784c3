package result

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/storage"
)

const (
	shelfPrefix = "result-"
	shelfTime   = 5 * time.Second  // for all that a call waits for of the store
	shelfSweep  = 10 * time.Minute // between two looks for what others left behind
	maxSwept    = 100              // records in one look
)

// A shelf keeps results in [Options.Store] as well, for other programs.
type shelf struct {
	store storage.Store

	mu    sync.Mutex
	swept time.Time
}

// A shelfRecord is a kept result in the store.
type shelfRecord struct {
	Named        bool        `json:"named,omitempty"`
	User         string      `json:"user,omitempty"`
	Conversation string      `json:"conversation,omitempty"`
	From         From        `json:"from"`
	Blocks       []keptBlock `json:"blocks"`
	Expires      time.Time   `json:"expires"`
}

// recordName returns the name of the record of a handle. The handle begins with the hour after
// which the record is old, so that a look for old ones reads no other.
func recordName(handle string) string { return shelfPrefix + strings.ToLower(handle) }

// hourDigits is how many digits hourOf returns until the year 2161.
const hourDigits = 4

func hourOf(expires time.Time) string {
	return strings.ToUpper(strconv.FormatInt(expires.Unix()/3600+1, 36))
}

func isOld(name string, now time.Time) bool {
	handle := strings.TrimPrefix(name, shelfPrefix)
	n, err := strconv.ParseInt(handle[:min(hourDigits, len(handle))], 36, 64)
	return err == nil && n < now.Unix()/3600
}

// put saves a result, and deletes those that this program does not keep any more. A result that
// cannot be saved can be read in this program alone.
func (s *shelf) put(ctx context.Context, k *keptResult, dropped []*keptResult) {
	data, err := json.Marshal(shelfRecord{k.owner.named, k.owner.owner, k.owner.conversation, k.from, k.blocks, k.expires.UTC()})
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shelfTime)
	defer cancel()
	for _, old := range append(dropped, s.old(ctx)...) {
		if r, err := s.store.Load(ctx, recordName(old.handle), ""); err == nil {
			_ = s.store.Delete(ctx, recordName(old.handle), r.Revision) // one that stays is swept
		}
	}
	if err == nil && k.handle != "" {
		_, _ = s.store.Save(ctx, recordName(k.handle), data, "")
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
	var rec shelfRecord
	if err != nil || json.Unmarshal(r.Data, &rec) != nil || by != (owner{rec.Named, rec.User, rec.Conversation}) || !time.Now().Before(rec.Expires) {
		return nil, err
	}
	return &keptResult{from: rec.From, blocks: rec.Blocks}, nil
}

// old returns, now and then, results that have expired and were not deleted by their program.
func (s *shelf) old(ctx context.Context) (results []*keptResult) {
	now := time.Now()
	s.mu.Lock()
	soon := now.Sub(s.swept) < shelfSweep
	if !soon {
		s.swept = now
	}
	s.mu.Unlock()
	if soon {
		return nil
	}
	for name, err := range s.store.Names(ctx, shelfPrefix) {
		if err != nil || len(results) == maxSwept {
			break
		}
		if isOld(name, now) {
			results = append(results, &keptResult{handle: strings.TrimPrefix(name, shelfPrefix)})
		}
	}
	return results
}
