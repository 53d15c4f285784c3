package apps

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/registry"
)

//go:embed assets/apps.js
var script []byte

const (
	maxMessage = 8 << 20          // bytes of what a page sends
	pollTime   = 25 * time.Second // how long a page waits for news
	tooMany    = "too many messages: wait before the next one"
)

// Bridge serves the module apps.js and what it needs, to the page of the program: put the handler below a path of that page's
// origin, without the path, as [http.StripPrefix] does. If users have names, the context of a request must have that of its
// user, by [session.WithUser]: an app is there for the user whose call it shows. Requests of other origins are refused.
func (a *Apps) Bridge() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /apps.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		_, _ = w.Write(script)
	})
	mux.HandleFunc("POST /poll", a.poll)
	mux.HandleFunc("POST /{id}/open", a.withShown(a.open))
	mux.HandleFunc("POST /{id}/message", a.withShown(a.message))
	mux.HandleFunc("POST /{id}/end", a.withShown(func(w http.ResponseWriter, _ *http.Request, s *Shown) {
		s.End("the page has closed it")
		answer(w, http.StatusOK, struct{}{})
	}))
	return http.NewCrossOriginProtection().Handler(mux)
}

// use returns the app of an ID, if it is there for the owner of ctx.
func (a *Apps) use(ctx context.Context, id string) *Shown {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.shown[id]
	if s == nil || s.owner != onbehalf.Owner(ctx) {
		return nil
	}
	s.used = time.Now()
	return s
}

// withShown serves requests about one app, in whose context is on whose behalf it acts.
func (a *Apps) withShown(serve func(http.ResponseWriter, *http.Request, *Shown)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s := a.use(r.Context(), r.PathValue("id"))
		if s == nil {
			refuse(w, http.StatusNotFound, "the app has ended")
			return
		}
		ctx := registry.WithConversation(r.Context(), s.Conversation)
		ctx = registry.WithCallID(registry.WithCallID(ctx, s.CallID), "app-"+rand.Text()[:8])
		serve(w, r.WithContext(registry.AsApp(ctx, s.Server)), s)
	}
}

// open reads the page of an app, and makes the frame for it.
func (a *Apps) open(w http.ResponseWriter, r *http.Request, s *Shown) {
	origin := r.Header.Get("Origin")
	if origin == "" || origin == "null" || strings.EqualFold(origin, a.SandboxOrigin()) {
		refuse(w, http.StatusForbidden, "the page of the program must have an origin of its own, which is not that of the sandbox")
		return
	}
	p, err := a.read(r.Context(), s)
	if err != nil {
		a.opts.Logger.Warn("apps: an app is not shown", "server", s.Server, "tool", s.Tool, "error", err)
		status, why := http.StatusBadGateway, "the page of the app cannot be read"
		if f, ok := errors.AsType[flaw](err); ok {
			status, why = f.status, err.Error()
		}
		refuse(w, status, why)
		return
	}
	f := &frame{p.declared.CSP.header(origin), p.declared.CSP.connections(), origin}
	a.mu.Lock()
	if s.ended == "" {
		s.page = &page{declared: p.declared}
		delete(a.frames, s.frame)
		s.frame = rand.Text()
		a.frames[s.frame] = f
	}
	token := s.frame
	a.mu.Unlock()
	granted, allow := p.granted(a.opts.Permissions)
	a.opts.Logger.Info("apps: an app is shown", "server", s.Server, "tool", s.Tool, "uri", s.def.App(), "policy", f.policy, "permissions", allow)
	answer(w, http.StatusOK, map[string]any{
		"sandbox": strings.TrimSuffix(a.opts.SandboxURL, "/") + "/" + token, "html": p.html, "csp": p.declared.CSP,
		"permissions": granted, "allow": allow, "prefersBorder": p.declared.PrefersBorder, "title": s.Title,
	})
}

// message takes a message of an app, and answers it if it is a request.
func (a *Apps) message(w http.ResponseWriter, r *http.Request, s *Shown) {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
	if err != nil {
		refuse(w, http.StatusRequestEntityTooLarge, "the message is too long")
		return
	}
	m, err := jsonscan.Scan(data)
	if err != nil || m.Version != "2.0" || m.Method == "" {
		refuse(w, http.StatusBadRequest, "the message is none of JSON-RPC 2.0")
		return
	}
	admitted := s.admit()
	switch {
	case m.ID == nil && !admitted:
		refuse(w, http.StatusTooManyRequests, tooMany)
		return
	case m.ID == nil:
		a.opts.Logger.Debug("apps: an app says", "server", s.Server, "tool", s.Tool, "method", plain.Line(m.Method), "message", plain.Cut(plain.Line(string(m.Params)), maxLog))
		w.WriteHeader(http.StatusNoContent)
		return
	}
	result, failed := any(nil), &rpcError{codeRefused, tooMany}
	if admitted {
		result, failed = a.request(r.Context(), s, &m)
	}
	res := map[string]any{"jsonrpc": "2.0", "id": json.RawMessage(m.ID)}
	if failed != nil {
		res["error"] = failed
	} else {
		res["result"] = result
	}
	answer(w, http.StatusOK, res)
}

// A polled is what is new for one app.
type polled struct {
	Last     int               `json:"last"`
	Messages []json.RawMessage `json:"messages,omitempty"`
	Ended    string            `json:"ended,omitempty"`
}

// poll answers a page as soon as there is something new for its apps: the request has the number of the last news of each.
func (a *Apps) poll(w http.ResponseWriter, r *http.Request) {
	var seen map[string]int
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10)).Decode(&seen); err != nil || len(seen) > maxShown {
		refuse(w, http.StatusBadRequest, "a poll is an object with the number of the last news of each app")
		return
	}
	all := map[string]*Shown{}
	for id := range seen {
		all[id] = a.use(r.Context(), id)
	}
	timer := time.NewTimer(pollTime)
	defer timer.Stop()
	for {
		found, changed := a.newsFor(all, seen)
		if len(found) > 0 {
			answer(w, http.StatusOK, found)
			return
		}
		select {
		case <-changed:
		case <-timer.C:
			answer(w, http.StatusOK, found)
			return
		case <-r.Context().Done():
			return
		}
	}
}

// newsFor returns what apps were not told yet, and a channel that is closed when there may be more.
func (a *Apps) newsFor(all map[string]*Shown, seen map[string]int) (found map[string]*polled, changed <-chan struct{}) {
	found = map[string]*polled{}
	a.mu.Lock()
	defer a.mu.Unlock()
	for id, s := range all {
		switch {
		case s == nil:
			found[id] = &polled{Ended: "it has ended"}
		case s.ended != "":
			found[id] = &polled{Ended: s.ended}
		case s.last > seen[id]:
			p := &polled{Last: s.last}
			for _, n := range s.news {
				if n.number > seen[id] {
					p.Messages = append(p.Messages, n.message)
				}
			}
			found[id] = p
		}
	}
	return found, a.changed
}

func answer(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // the page may have gone
}

// refuse answers with an error, whose text may be that of a server.
func refuse(w http.ResponseWriter, status int, text string) {
	answer(w, status, map[string]string{"error": text})
}
