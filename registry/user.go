package registry

import (
	"context"

	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
)

// UserOf returns the user on whose behalf a call is made, as session.WithUser names them, and
// whether one is named. It is for tools and middleware that keep something for each user.
func UserOf(ctx context.Context) (user string, ok bool) { return onbehalf.User(ctx) }
