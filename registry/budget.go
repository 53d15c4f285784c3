package registry

import (
	"context"
	"sync"
)

// A TurnBudget bounds the results of one turn together.
type TurnBudget struct {
	// MaxBytes is how much text they have together, in bytes. Default: 128 KiB;
	// negative: no limit.
	MaxBytes int
	// MaxTokens is the same in tokens, counted as [ResultOptions].Tokens says.
	// Zero or negative: no limit.
	MaxTokens int
}

type turnKey struct{}

// WithTurn returns a context for the calls of one turn of a model, in parallel or
// one after the other. All their results share the budget, the pages of read_result
// included. What goes beyond is kept and can be read in a later turn: the model
// gets as much of it as there is room for, and in the end only a line of at most
// 512 bytes for each result, which is not counted. Call it once for each turn; the
// innermost turn of a context counts.
//
// It needs [Options].Results. Without a turn there is no budget but that of each
// result.
func WithTurn(ctx context.Context, budget TurnBudget) context.Context {
	t := &turn{left: size{
		bytes:  filled(budget.MaxBytes, defaultTurnBytes, 0),
		tokens: filled(budget.MaxTokens, noLimit, 0),
	}}
	return context.WithValue(ctx, turnKey{}, t)
}

const defaultTurnBytes = 128 << 10

func turnOf(ctx context.Context) *turn {
	t, _ := ctx.Value(turnKey{}).(*turn)
	return t
}

// A size is how much of something there is. A limit of noLimit bounds nothing.
type size struct{ bytes, tokens int }

func (s size) within(limit size) bool {
	return s.bytes <= limit.bytes && s.tokens <= limit.tokens
}

// A turn is what is left of a budget. A nil turn has no end.
type turn struct {
	mu   sync.Mutex
	left size
}

// counts reports whether the turn wants to know tokens.
func (t *turn) counts() bool {
	if t == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.left.tokens != noLimit
}

// claim takes what is wanted, if there is as much. Else it takes all that is left,
// to be given back as far as it is not used.
func (t *turn) claim(want size) (got size, all bool) {
	if t == nil {
		return want, true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if all = want.within(t.left); all {
		got = want
	} else {
		got = t.left
	}
	t.left.take(got, -1)
	return got, all
}

// giveBack returns what was claimed and not used.
func (t *turn) giveBack(claimed, used size) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if claimed.bytes != noLimit {
		t.left.take(size{bytes: claimed.bytes - used.bytes}, 1)
	}
	if claimed.tokens != noLimit {
		t.left.take(size{tokens: claimed.tokens - used.tokens}, 1)
	}
}

// take adds sign times s. What has no limit stays so.
func (left *size) take(s size, sign int) {
	if left.bytes != noLimit {
		left.bytes += sign * s.bytes
	}
	if left.tokens != noLimit {
		left.tokens += sign * s.tokens
	}
}
