package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"maps"

	"github.com/mcpbelt/mcpbelt/host/content"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/message"
	"github.com/mcpbelt/mcpbelt/host/gateway/internal/stream"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/internal/protocol"
	"github.com/mcpbelt/mcpbelt/mcp"
)

const (
	// maxURI bounds the address of a resource to which a client subscribes: it is kept.
	maxURI = 8 << 10
	// maxFollowed bounds the subscriptions of all clients. An owner has a quarter of them at most.
	maxFollowed = 100_000
)

// subscribe answers resources/subscribe.
func (r *request) subscribe(ctx context.Context) (json.RawMessage, *mcp.JSONRPCError) {
	address := message.String(r.params.URI)
	if address == "" || len(address) > maxURI {
		return nil, message.InvalidParams("params.uri is missing, or has more than %d bytes", maxURI)
	}
	server, uri, failed := r.locate(ctx, address)
	if failed != nil {
		return nil, failed
	}
	s := r.peer.session
	s.mu.Lock()
	isNew, count := !s.ended && s.subscribed[address] == nil, len(s.subscribed)
	if isNew && count < maxSubscribed {
		if s.subscribed == nil {
			s.subscribed = map[string]context.CancelFunc{}
		}
		ctx, s.subscribed[address] = context.WithCancel(r.peer.context(s.ctx))
	}
	s.mu.Unlock()
	switch {
	case !isNew:
		return r.empty(ctx)
	case count >= maxSubscribed:
		return nil, message.Failure(message.CodeBusy, "the session has %d subscriptions", maxSubscribed)
	}
	refused := r.gateway.follow(ctx, r.under.ctx, server, uri, address, func(changed string) {
		if now := s.shown(); !now.hasServer(server) || !now.hasContent() {
			return // it is not one of theirs any more
		}
		s.notify(message.Notification(protocol.NoteResourceUpdated, map[string]string{"uri": changed}, ""))
	})
	if refused != nil {
		_, _ = r.unsubscribe(ctx)
		return nil, requestError(refused)
	}
	return r.empty(ctx)
}

// unsubscribe answers resources/unsubscribe.
func (r *request) unsubscribe(ctx context.Context) (json.RawMessage, *mcp.JSONRPCError) {
	address := message.String(r.params.URI)
	s := r.peer.session
	s.mu.Lock()
	cancel := s.subscribed[address]
	delete(s.subscribed, address)
	s.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	return r.empty(ctx)
}

// follow calls changed whenever a resource may have changed, until ctx ends: with its address, or with its URI if
// that is how the client calls it. It returns when the server has agreed, or why there will be nothing; an error as well when
// the caller waits no more.
func (g *Gateway) follow(ctx, waits context.Context, server, uri, called string, changed func(address string)) error {
	owner := onbehalf.Owner(ctx)
	g.mu.Lock()
	err := g.followed.Take(owner, 1, "resources are followed")
	g.mu.Unlock()
	if err != nil {
		return err
	}
	end := func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.followed.Give(owner, 1)
	}
	agreed := make(chan error, 2)
	if !g.spawn(func() {
		defer end()
		isFirst := true
		for address, err := range g.content.ResourceUpdates(ctx, content.Address(server, uri)) {
			if err != nil {
				agreed <- err
				return
			}
			if isFirst {
				isFirst = false
				agreed <- nil
				continue
			}
			if _, own, err := content.ParseAddress(address); err == nil {
				switch {
				case own == uri:
					address = called
				case called == uri:
					address = own
				}
				changed(address)
			}
		}
		agreed <- errors.New("the subscription has ended")
	}) {
		end()
		return ErrClosed
	}
	select {
	case err := <-agreed:
		return err
	case <-waits.Done():
		return context.Canceled
	}
}

// A listener is a client of revision 2026-07-28 that listens for changes, by a request that stays
// unanswered meanwhile.
type listener struct {
	peer  *peer
	id    json.RawMessage
	lists map[string]bool
	out   *stream.Stream
}

// subscriptions serves subscriptions/listen: the stream of the request has what the client wants to
// hear, until ctx ends or the gateway shuts down. It returns the answer.
func (r *request) subscriptions(ctx context.Context) (json.RawMessage, *mcp.JSONRPCError) {
	wanted := jsonscan.Member(r.params.All, "notifications")
	if !message.IsObject(wanted) {
		return nil, message.InvalidParams("params.notifications is missing")
	}
	if jsonscan.Member(wanted, "taskIds") != nil && !r.peer.can.tasks {
		return nil, lacksTasks()
	}
	g, v := r.gateway, r.peer.shown
	has := v.capabilities()
	l := &listener{peer: r.peer, id: r.id, lists: map[string]bool{}, out: r.out}
	allowed := map[string]any{}
	for key, offered := range map[string]bool{"toolsListChanged": true, "promptsListChanged": has.Prompts.Listed, "resourcesListChanged": has.Resources.Listed} {
		if offered && string(jsonscan.Member(wanted, key)) == "true" {
			l.lists[key], allowed[key] = true, true
		}
	}
	var uris []string
	tried := 0
	if has.Resources.Subscribe {
		for item := range jsonscan.Elements(jsonscan.Member(wanted, "resourceSubscriptions")) {
			address, _ := jsonscan.String(item)
			if tried++; tried > maxSubscribed {
				break
			}
			if len(address) > maxURI {
				continue
			}
			server, uri, failed := r.locate(ctx, address)
			if failed == nil && g.follow(ctx, ctx, server, uri, address, func(changed string) {
				l.send(protocol.NoteResourceUpdated, map[string]any{"uri": changed})
			}) == nil {
				uris = append(uris, address)
			}
		}
	}
	if uris != nil {
		allowed["resourceSubscriptions"] = uris
	}
	l.out.Put(l.message(protocol.NoteAcknowledged, map[string]any{"notifications": allowed}), false)
	if len(allowed) > 0 {
		g.mu.Lock()
		g.listeners[l] = struct{}{}
		g.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-g.serving.Done():
		}
		g.mu.Lock()
		delete(g.listeners, l)
		g.mu.Unlock()
	}
	return message.Marshal(map[string]any{"resultType": "complete", "_meta": map[string]json.RawMessage{protocol.MetaSubscription: l.id}}), nil
}

func (l *listener) send(method string, params map[string]any) {
	l.out.Put(l.message(method, params), true)
}

// message returns a notification that says which request it belongs to.
func (l *listener) message(method string, params map[string]any) json.RawMessage {
	with := map[string]any{"_meta": map[string]json.RawMessage{protocol.MetaSubscription: l.id}}
	maps.Copy(with, params)
	return message.Notification(method, with, "")
}
