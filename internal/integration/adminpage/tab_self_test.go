//go:build integration && unix

package adminpage

import (
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
	"github.com/mcpbelt/mcpbelt/internal/integration/chromium"
)

// TestTabWatches has a page do what it must not, and its tab see that.
func TestTabWatches(t *testing.T) {
	s := open(t)
	p := s.tab(chromium.Start(t))
	p.signIn(s.owner)
	for _, c := range []struct{ script, want string }{
		{"fetch('http://elsewhere.example/').catch(() => 0)", `"connect-src"`},
		{"document.head.append(Object.assign(document.createElement('style'), {textContent: 'b {}'}))", `"style-src-elem"`},
		{"try { document.createElement('p').innerHTML = '<b>x</b>' } catch {}", "require-trusted-types-for"},
		{"setTimeout(() => { throw new Error('x') })", "an exception"},
		{"console.error('x')", "a message in the console"},
		{"setTimeout(() => { location = 'http://elsewhere.example/' })", "a request to http://elsewhere.example/"},
	} {
		assert.OK(t, p.Eval("(() => {"+c.script+"; return 0})()", nil))
		hosttest.Eventually(t, c.want, func() bool {
			p.mu.Lock()
			defer p.mu.Unlock()
			return strings.Contains(strings.Join(p.problems, "\n"), c.want)
		})
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problems = nil
}
