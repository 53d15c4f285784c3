package ledger

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// appSuffix follows the name of a tool in that of its app: the ledger compares apps as it does tools.
const appSuffix = " (app)"

// NewAppSurface returns the surface of the app of a server's tool (MCP Apps): a page, its URI, and what
// the server declares of it as JSON, such as the domains that it loads from. The page counts by its hash.
func NewAppSurface(tool, uri string, page []byte, declares json.RawMessage) *Surface {
	sum := sha256.Sum256(page)
	return NewSurface(&Tool{
		Name: tool + appSuffix, Title: uri, Annotations: declares,
		Description: fmt.Sprintf("a page of %d bytes, sha256:%s", len(page), hex.EncodeToString(sum[:])),
	})
}

// RecordApp makes the ledger know the app of a tool, and returns why it may not be shown, or nil. Under
// [Pin] the first app of a tool is accepted; one that has changed waits, as a tool does, under the name
// of the tool with " (app)" behind it. If err is not nil what is new could not be kept, and waits.
func (l *Ledger) RecordApp(ctx context.Context, s Server, app *Surface) (held *Change, err error) {
	if app == nil {
		return nil, nil
	}
	l, err = l.At(s.Place)
	mode := l.modeOf(&s)
	judge := func() *Change { return l.placed(l.now().state.judge(mode, &s, app)) }
	if held = judge(); held == nil || err != nil {
		return held, err
	}
	seen := sightingOf(s, mode, []*Surface{app}, time.Now().UTC().Truncate(time.Second))
	err = l.do(ctx, &request{op: ledgerOp{server: s.Name, apply: func(e *ledgerEdit) error { seen.observeApps(e); return nil }}})
	return judge(), err
}

// observeApps notes apps of tools, unless all of their server is held back.
func (s *sighting) observeApps(e *ledgerEdit) {
	srv := e.state.servers[s.server.Name]
	if srv == nil || srv.judge(s.mode, &s.server) != nil {
		return
	}
	s.twins = e.state.sameLaunch(s.server.Name, s.server.Fingerprint)
	for name, sf := range s.tools {
		m := srv.tools[name]
		first := m == marks{}
		known, held := s.heldElsewhere(first, name, sf.Hash)
		if next := s.judged(cmp.Or(m, known), sf, first && !held); next != m {
			e.setTool(s.server.Name, name, next)
		}
	}
}

// isApp reports whether a name is that of an app, which no list of tools has.
func isApp(name string) bool { return strings.HasSuffix(name, appSuffix) }
