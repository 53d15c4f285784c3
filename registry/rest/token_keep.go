package rest

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	// maxTokens is how many tokens, and failures to get one, a Service keeps. The
	// one that was not used for the longest time goes first.
	maxTokens = 1000
	// failureTTL is how long a failure stands for those who come after it.
	failureTTL = 2 * time.Second
)

// tokens are those that a Service has fetched, by user and credentials. A fetch has a
// goroutine of its own, which ends with it: when it is done, when nobody waits for
// it any more, or when the tokens are closed.
type tokens struct {
	running sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	fetches map[tokenKey]*tokenFetch
	kept    map[tokenKey]*list.Element // of *keptToken
	used    *list.List                 // the one that was used last comes first
}

// A keptToken is a token, or why there is none.
type keptToken struct {
	key   tokenKey
	token *token
	err   error
	until time.Time
}

// A tokenFetch is under way. Token and err are set when done is closed.
type tokenFetch struct {
	done    chan struct{}
	cancel  context.CancelFunc
	waiting int // for it; guarded by tokens.mu
	token   *token
	err     error
}

func newTokens() *tokens {
	return &tokens{fetches: map[tokenKey]*tokenFetch{}, kept: map[tokenKey]*list.Element{}, used: list.New()}
}

// get returns the token of a key: the one that is kept, or that of the fetch that is
// under way, or that of a new fetch. It waits no longer than ctx.
func (t *tokens) get(ctx context.Context, key tokenKey, fetch func(context.Context) (*token, error)) (*token, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return nil, ErrClosed
	}
	if k := t.find(key); k != nil {
		t.mu.Unlock()
		return k.token, k.err
	}
	f := t.fetches[key]
	if f == nil {
		// The fetch is not of one caller, so neither his deadline nor what else is
		// in his context is for it.
		own, cancel := context.WithCancel(context.Background())
		f = &tokenFetch{done: make(chan struct{}), cancel: cancel}
		t.fetches[key] = f
		t.running.Go(func() { t.run(own, key, f, fetch) })
	}
	f.waiting++
	t.mu.Unlock()

	select {
	case <-f.done:
		return f.token, f.err
	case <-ctx.Done():
		t.leave(key, f)
		return nil, ctx.Err()
	}
}

// run fetches a token and keeps what came of it.
func (t *tokens) run(ctx context.Context, key tokenKey, f *tokenFetch, fetch func(context.Context) (*token, error)) {
	defer f.cancel()
	got, err := func() (got *token, err error) {
		defer func() {
			if v := recover(); v != nil {
				err = fmt.Errorf("rest: fetching a token panicked: %v", v)
			}
		}()
		return fetch(ctx)
	}()
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		got.key = key
		t.keep(&keptToken{key: key, token: got, until: got.until})
	} else if t.closed {
		err = ErrClosed
	} else if ctx.Err() == nil {
		t.keep(&keptToken{key: key, err: err, until: time.Now().Add(failureTTL)})
	}
	if t.fetches[key] == f {
		delete(t.fetches, key)
	}
	f.token, f.err = got, err
	close(f.done)
}

// leave is for who does not wait for a fetch any more. The last one ends it; who
// comes then begins another.
func (t *tokens) leave(key tokenKey, f *tokenFetch) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f.waiting--; f.waiting > 0 {
		return
	}
	f.cancel()
	if t.fetches[key] == f {
		delete(t.fetches, key)
	}
}

// find returns what is kept for a key and is still good. It needs the lock.
func (t *tokens) find(key tokenKey) *keptToken {
	at := t.kept[key]
	if at == nil {
		return nil
	}
	k := at.Value.(*keptToken)
	if !time.Now().Before(k.until) {
		t.remove(at)
		return nil
	}
	t.used.MoveToFront(at)
	return k
}

// keep needs the lock.
func (t *tokens) keep(k *keptToken) {
	if at := t.kept[k.key]; at != nil {
		t.remove(at)
	}
	if t.closed || !time.Now().Before(k.until) {
		return
	}
	t.kept[k.key] = t.used.PushFront(k)
	if t.used.Len() > maxTokens {
		t.remove(t.used.Back())
	}
}

func (t *tokens) remove(at *list.Element) {
	delete(t.kept, t.used.Remove(at).(*keptToken).key)
}

// drop forgets a token that was rejected, unless there is another one already.
func (t *tokens) drop(rejected *token) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at := t.kept[rejected.key]; at != nil && at.Value.(*keptToken).token == rejected {
		t.remove(at)
	}
}

// close ends the fetches, waits for them, and forgets all tokens.
func (t *tokens) close() {
	t.mu.Lock()
	t.closed = true
	for _, f := range t.fetches {
		f.cancel()
	}
	clear(t.kept)
	t.used.Init()
	t.mu.Unlock()
	t.running.Wait()
}
