package approval

import "context"

type waitKey struct{}

// WithWait returns a context whose calls say when they wait for a person: begins is called
// when they begin to, and what it returns when that is over. A clock that runs for the call is stopped by
// it.
func WithWait(ctx context.Context, begins func() (over func())) context.Context {
	return context.WithValue(ctx, waitKey{}, begins)
}

// Wait says that the call of ctx begins to wait for a person, and returns what has to be called when
// that is over. A registry.Approver that asks a person right away calls it.
func Wait(ctx context.Context) (over func()) {
	if begins, ok := ctx.Value(waitKey{}).(func() func()); ok && begins != nil {
		if over := begins(); over != nil {
			return over
		}
	}
	return func() {}
}
