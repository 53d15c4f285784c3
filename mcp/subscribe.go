package mcp

import (
	"errors"
	"fmt"
	"slices"
)

// agreedOn wakes the watchers of those resources whose changes the server will
// announce, and ends those of the others that it was asked for.
func (s *shared) agreedOn(asked, filter []byte) {
	agreed := resourcesOf(filter)
	s.topics.disagree("")
	for uri := range resourcesOf(asked) {
		if agreed[uri] {
			s.topics.agree(uri)
		} else {
			s.topics.fail(uri, WithOutcome(fmt.Errorf("mcp: server %q does not announce changes of %q: %w", s.name, uri, errors.ErrUnsupported), Answered))
		}
	}
}

// subscribe has a server of an older revision announce changes of the resources
// that a person follows, one by one.
func (conn *connection) subscribe() {
	const subscribe, unsubscribe = "resources/subscribe", "resources/unsubscribe"
	tell := func(method, uri string) error {
		return conn.tellServer(conn.ctx, method, member{"uri", appendQuoted(nil, uri)})
	}
	have := make(map[string]bool)
	for {
		wanted := conn.shared.topics.uris()
		for _, uri := range wanted {
			if have[uri] {
				continue
			}
			err := tell(subscribe, uri)
			switch {
			case err == nil:
				have[uri] = true
				conn.shared.topics.agree(uri)
			case conn.hasEnded(), conn.ctx.Err() != nil:
				return // the next connection is asked
			default:
				if !errors.As(err, new(*ServerError)) {
					conn.shared.opts.Logger.Warn("mcp: no subscription", "server", conn.shared.name, "uri", uri, "error", err)
				}
				conn.shared.topics.fail(uri, err)
			}
		}
		for uri := range have {
			if !slices.Contains(wanted, uri) {
				delete(have, uri)
				conn.shared.topics.disagree(uri)
				_ = tell(unsubscribe, uri) // it may go on announcing
			}
		}
		select {
		case <-conn.shared.topics.changed:
		case <-conn.ctx.Done():
			return
		}
	}
}
