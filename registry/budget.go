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
	t := &turn{left: resultSize{
		bytes:  limitOr(budget.MaxBytes, defaultTurnBytes, 0),
		tokens: limitOr(budget.MaxTokens, noLimit, 0),
	}}
	return context.WithValue(ctx, turnKey{}, t)
}

const defaultTurnBytes = 128 << 10

func turnOf(ctx context.Context) *turn {
	t, _ := ctx.Value(turnKey{}).(*turn)
	return t
}

// A resultSize is how much of something there is. A limit of noLimit bounds nothing.
type resultSize struct{ bytes, tokens int }

func (s resultSize) within(limit resultSize) bool {
	return s.bytes <= limit.bytes && s.tokens <= limit.tokens
}

// A turn is what is left of a budget. A nil turn has no end.
type turn struct {
	mu   sync.Mutex
	left resultSize
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

// claim takes what is wanted, or nothing if there is less.
func (t *turn) claim(want resultSize) bool {
	if t == nil {
		return true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !want.within(t.left) {
		return false
	}
	t.left.take(want, -1)
	return true
}

// claimRest takes all that is left. What is not used of it has to be given back.
func (t *turn) claimRest() resultSize {
	t.mu.Lock()
	defer t.mu.Unlock()
	rest := t.left
	t.left.take(rest, -1)
	return rest
}

// giveBack returns what was claimed and not used.
func (t *turn) giveBack(claimed, used resultSize) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if claimed.bytes != noLimit {
		t.left.take(resultSize{bytes: claimed.bytes - used.bytes}, 1)
	}
	if claimed.tokens != noLimit {
		t.left.take(resultSize{tokens: claimed.tokens - used.tokens}, 1)
	}
}

// take adds sign times s. What has no limit stays so.
func (left *resultSize) take(s resultSize, sign int) {
	if left.bytes != noLimit {
		left.bytes += sign * s.bytes
	}
	if left.tokens != noLimit {
		left.tokens += sign * s.tokens
	}
}
