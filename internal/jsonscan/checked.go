package jsonscan

import "context"

type checkedKey struct{}

// WithChecked returns a context for what is done with an object that was found valid, such as a part of a
// message, and is not written to: those that it passes need not check it again. Nil: with none.
func WithChecked(ctx context.Context, object []byte) context.Context {
	if len(object) < worthKnowing && ctx.Value(checkedKey{}) == nil {
		return ctx
	}
	return context.WithValue(ctx, checkedKey{}, object)
}

// worthKnowing is how long an object is that takes longer to check than to look up.
const worthKnowing = 1 << 10

// IsChecked reports whether an object is that of [WithChecked]: the very same memory.
func IsChecked(ctx context.Context, object []byte) bool {
	if len(object) < worthKnowing {
		return false
	}
	known, _ := ctx.Value(checkedKey{}).([]byte)
	return len(known) == len(object) && &known[0] == &object[0]
}
