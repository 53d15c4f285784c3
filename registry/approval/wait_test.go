package approval_test

import (
	"context"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry/approval"
)

func TestWait(t *testing.T) {
	approval.Wait(t.Context())() // without a clock
	approval.Wait(approval.WithWait(t.Context(), nil))()
	running := 1
	ctx := approval.WithWait(context.WithoutCancel(t.Context()), func() func() {
		running--
		return func() { running++ }
	})
	over := approval.Wait(ctx)
	assert.Equal(t, running, 0)
	over()
	assert.Equal(t, running, 1)
}
