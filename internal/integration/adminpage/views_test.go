//go:build integration && unix

package adminpage

import (
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/integration/chromium"
)

// views are the paths of all views, as a busy site has them.
var views = []string{
	"/servers", "/servers/files", "/servers/broken", "/servers/weather/edit", "/add", "/tools", "/tools/weather__forecast", "/changes",
	"/launches", "/inbox", "/logins", "/keys", "/activity", "/health", "/no-such-view",
}

// TestViews opens each view in both themes and on a narrow screen.
func TestViews(t *testing.T) {
	s := openBusy(t)
	p := s.tab(chromium.Start(t))
	p.signIn(s.owner)
	for _, path := range views {
		p.theme("light")
		p.open(path)
		p.accessible(path + " light")
		p.theme("dark")
		p.size(380, 800)
		p.open(path)
		p.accessible(path + " dark and narrow")
		if !p.has("document.scrollingElement.scrollWidth <= 380") {
			var wide string
			_ = p.Eval(`[...document.querySelectorAll('main *')].filter((e) => e.getBoundingClientRect().right > 381 && !e.closest('.scroll, pre, .list')).slice(0, 3).map((e) => e.outerHTML.slice(0, 200)).join('\n')`, &wide)
			t.Errorf("%s: got it wider than 380 px by %s, want no more", path, wide)
		}
		p.size(1280, 800)
	}
}
