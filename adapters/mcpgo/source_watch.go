package mcpgo

import (
	"context"
	"errors"
	"sync"
	"time"

	gomcp "github.com/mark3labs/mcp-go/mcp"
)

// Watch refreshes the tools at once, and each time the server says that they have
// changed, until ctx ends, whose error it returns. If a refresh fails, or takes longer
// than two minutes, it tries again, after a second and then less and less often; the
// registry has the tools of before. A server whose list does not come to rest is asked
// less and less often, too.
//
// Of changes a client hears on stdio and SSE, and on Streamable HTTP with
// transport.WithContinuousListening. On revision 2026-07-28 Watch has it listen. A
// client has one such stream, so what [client.Client.PendingSubscriptionFilter] returns
// goes on with it; a later Listen of yours takes its place: have it listen to changes of
// tools, too.
func (s *Source) Watch(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	wg.Go(func() { s.listen(ctx) })
	failures := pace{shortest: time.Second, longest: time.Minute}
	changes := pace{shortest: 100 * time.Millisecond, longest: 10 * time.Second}
	for {
		select { // what the list to come tells anyway
		case <-s.changed:
		default:
		}
		var again <-chan time.Time
		if err := s.refreshInTime(ctx); err != nil {
			again = time.After(failures.next())
		} else {
			failures.reset()
		}
		rested := time.Now()
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-again:
		case <-s.changed:
			if time.Since(rested) > max(2*changes.wait, changes.shortest) {
				changes.reset()
				continue
			}
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(changes.next()):
			}
		}
	}
}

// longestList is how long Watch waits for a list.
const longestList = 2 * time.Minute

func (s *Source) refreshInTime(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, longestList)
	defer cancel()
	_, err := s.Refresh(ctx)
	return err
}

// listen has the client listen to changes where it has to ask for that, and again when
// its stream has ended, until ctx ends or another stream has taken its place.
func (s *Source) listen(ctx context.Context) {
	attempts := pace{shortest: time.Second, longest: time.Minute}
	for {
		// The revision of the client is not known before its Initialize.
		if s.client.IsInitialized() {
			if !gomcp.IsModernProtocol(s.client.ProtocolVersion()) {
				return
			}
			filter := s.client.PendingSubscriptionFilter()
			filter.ToolsListChanged = true
			began := time.Now()
			select {
			case o := <-begin(func() (struct{}, error) { return struct{}{}, s.client.Listen(ctx, filter) }):
				if errors.Is(o.err, context.Canceled) {
					return // also if another stream has taken its place
				}
			case <-ctx.Done():
				return
			}
			if time.Since(began) > time.Minute {
				attempts.reset()
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(attempts.next()):
		}
	}
}

// change notes that the server's list is another one.
func (s *Source) change() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// A pace is how long to wait between attempts that do not succeed: twice as long each
// time.
type pace struct{ shortest, longest, wait time.Duration }

func (p *pace) next() time.Duration {
	p.wait = min(max(2*p.wait, p.shortest), p.longest)
	return p.wait
}

func (p *pace) reset() { p.wait = 0 }
