package approval_test

import (
	"context"
	"testing"

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
	if running != 0 {
		t.Errorf("got a clock that runs while a person is asked")
	}
	over()
	if running != 1 {
		t.Errorf("got a clock that stands after the answer")
	}
}
