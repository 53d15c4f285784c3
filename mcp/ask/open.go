package ask

import (
	"context"
	"fmt"

	"github.com/mcpbelt/mcpbelt/internal/browser"
)

// OpenURL opens a page in the user's browser, by the program that the system has
// for that: xdg-open, open, or url.dll of Windows. The URL must be http or https
// and absolute; it is one argument of that program and passes through no shell.
// Ask the user before: see [mcp.ElicitURLRequest].
//
// OpenURL returns when the program has ended, after three seconds if it goes on,
// or when ctx ends. The program is not ended by that; one goroutine waits for its
// end.
func OpenURL(ctx context.Context, page string) error {
	if err := browser.Open(ctx, page); err != nil {
		return fmt.Errorf("ask: %w", err)
	}
	return nil
}
