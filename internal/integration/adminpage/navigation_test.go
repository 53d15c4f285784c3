//go:build integration && unix

package adminpage

import (
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/integration/chromium"
)

// TestManyPages opens more pages than a browser has connections: those that were left, and those out of sight, hold none.
func TestManyPages(t *testing.T) {
	s := open(t)
	p := s.tab(chromium.Start(t))
	p.signIn(s.owner)
	for i := range 10 {
		p.open([]string{"/servers", "/keys"}[i%2])
		p.AwaitTrue("document.querySelector('.state').dataset.state === 'live'")
	}
	assert.OK(t, p.Eval("setTimeout(() => history.back()) && 0", nil))
	p.AwaitTrue("document.querySelector('.state')?.dataset.state === 'live'")
}
