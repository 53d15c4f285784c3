package apps

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/session"
)

// pageType is the type of the pages that are shown.
const pageType = "text/html;profile=mcp-app"

const (
	maxShown   = 1024    // apps that are shown at a time, of all users
	maxPerUser = 32      // of one; the one that was unused longest ends
	maxPage    = 8 << 20 // bytes of a page
)

// Options configure [Apps].
type Options struct {
	// SandboxURL is where browsers reach [Apps.Sandbox], such as "http://127.0.0.1:8081" or "https://apps.example.com".
	// Its origin must not be that of the program's page, and is to serve nothing else. Required.
	SandboxURL string
	// Show is told of each call of a tool that has an app, before it is made, and has to show the app to the user of ctx:
	// it sends s, as JSON, to a page that calls show of apps.js. It must not wait for that. Nil: no app is shown, except
	// where tools are tried on the page of package admin, which shows those of its own calls.
	Show func(ctx context.Context, s *Shown)
	// Message takes what an app, on behalf of its user, says to the model (ui/message): params is a JSON object with a role and content blocks.
	// It is text of an untrusted party, of at most 64 KiB. Nil: apps are told that there is no such thing.
	Message func(ctx context.Context, s *Shown, params json.RawMessage) error
	// ModelContext takes what the model should know of an app in its next turn (ui/update-model-context), in place of what the
	// app has said before: params is a JSON object with content blocks, structuredContent or neither. Otherwise it is as Message.
	ModelContext func(ctx context.Context, s *Shown, params json.RawMessage) error
	// Permissions are those that apps get which ask for them, of "camera", "microphone", "geolocation" and
	// "clipboardWrite". Default: none.
	Permissions []string
	// IdleTimeout is how long an app may be in no page before it ends. Default: 30 min.
	IdleTimeout time.Duration
	// Logger receives which apps are shown, with what they declare, and at debug level what they log.
	// Default: nothing is logged.
	Logger *slog.Logger
}

// Apps shows the apps of a host's servers. It may be used by any number of goroutines, and starts none.
type Apps struct {
	host   *host.Host
	opts   Options
	origin string // of the sandbox

	mu      sync.Mutex // guards the following, and what of Shown it says
	shown   map[string]*Shown
	frames  map[string]*frame // by token
	changed chan struct{}     // closed, and replaced, when there is news for a page
	kept    int               // bytes of what apps were told
	closed  bool
}

// Prepare lets the servers of a host that is made with o know that the program shows apps: they have tools for these then.
// Call it before the host is made.
func Prepare(o *host.Options) {
	if o == nil {
		return
	}
	extensions := map[string]map[string]any{}
	maps.Copy(extensions, o.Client.Extensions)
	extensions[protocol.ExtensionApps] = map[string]any{"mimeTypes": []string{pageType}}
	o.Client.Extensions = extensions
}

// New returns an Apps for a host, from whose registry it learns of calls. The error is one of the options.
// Close it before the host.
func New(h *host.Host, opts *Options) (*Apps, error) {
	o := *cmp.Or(opts, new(Options))
	u, err := url.Parse(o.SandboxURL)
	switch {
	case h == nil:
		return nil, errors.New("apps: there is no host")
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("apps: Options.SandboxURL is required: an absolute URL of http or https, such as http://127.0.0.1:8081")
	}
	for _, name := range o.Permissions {
		if features()[name] == "" {
			return nil, fmt.Errorf("apps: Options.Permissions: %q is not known: it is camera, microphone, geolocation or clipboardWrite", name)
		}
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.IdleTimeout = cmp.Or(o.IdleTimeout, 30*time.Minute)
	a := &Apps{host: h, opts: o, origin: u.Scheme + "://" + u.Host, shown: map[string]*Shown{}, frames: map[string]*frame{}, changed: make(chan struct{})}
	h.Registry().UseForErrors(a.watch)
	return a, nil
}

// SandboxOrigin is the origin of [Options].SandboxURL, such as "http://127.0.0.1:8081": a page with a
// Content-Security-Policy lets frames come from it (frame-src).
func (a *Apps) SandboxOrigin() string { return a.origin }

// Close ends all apps. Pages are told, and no other app is shown.
func (a *Apps) Close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	for _, s := range a.shown {
		a.endLocked(s, "the program ends")
	}
}

// watch is the middleware that shows the apps of calls.
func (a *Apps) watch(next registry.Handler) registry.Handler {
	return func(ctx context.Context, call *registry.Call) (res *mcp.CallToolResult, err error) {
		show := a.opts.Show
		if try := onbehalf.HandlerOf[*Shown, struct{}](ctx, nil); try != nil { // who calls shows it
			show = func(ctx context.Context, s *Shown) { _, _ = try(ctx, s) }
		}
		if show == nil || call.Tool.App() == "" || onbehalf.ShowsApps(ctx) { // an app's own, or of a client that shows them
			return next(ctx, call)
		}
		s := a.add(ctx, call)
		if s == nil {
			return next(ctx, call)
		}
		err = errors.New("the call panicked")
		defer func() { s.finish(ctx, res, err) }()
		show(ctx, s)
		res, err = next(ctx, call)
		return res, err
	}
}

// add makes the app of a call, unless there are none any more.
func (a *Apps) add(ctx context.Context, call *registry.Call) *Shown {
	user, _ := session.UserOf(ctx)
	s := &Shown{
		ID: rand.Text(), Server: call.Tool.Origin.Server, Tool: call.Tool.Origin.Tool, Title: call.Tool.DisplayName(),
		User: user, Conversation: onbehalf.ConversationOf(ctx), CallID: registry.CallIDOf(ctx),
		apps: a, def: call.Tool, owner: onbehalf.Owner(ctx), used: time.Now(), left: burst, running: make(chan struct{}, maxRunning),
	}
	s.push("ui/notifications/tool-input", map[string]any{"arguments": call.Args})
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil
	}
	a.sweepLocked(s.owner)
	a.shown[s.ID] = s
	return s
}

// sweepLocked ends apps that no page shows, and makes room for one more of an owner.
func (a *Apps) sweepLocked(owner string) {
	now := time.Now()
	var all, own *Shown // that were unused longest
	count := 0
	for _, s := range a.shown {
		if now.Sub(s.used) > a.opts.IdleTimeout {
			a.endLocked(s, "no page has shown it for a long time")
			continue
		}
		if all == nil || s.used.Before(all.used) {
			all = s
		}
		if s.owner == owner {
			if count++; own == nil || s.used.Before(own.used) {
				own = s
			}
		}
	}
	if count >= maxPerUser {
		a.endLocked(own, "too many apps are shown")
	} else if all != nil && (len(a.shown) >= maxShown || a.kept > maxKept) {
		a.endLocked(all, "too many apps are shown")
	}
}

// endLocked ends an app: nothing reaches it any more.
func (a *Apps) endLocked(s *Shown, reason string) {
	s.ended = reason
	a.kept -= s.size
	delete(a.shown, s.ID)
	delete(a.frames, s.frame)
	a.wakeLocked()
}

// wakeLocked has the pages that wait look for news.
func (a *Apps) wakeLocked() {
	close(a.changed)
	a.changed = make(chan struct{})
}
