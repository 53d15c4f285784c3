package mcpgo_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/client"
	gomcp "github.com/mark3labs/mcp-go/mcp"

	belt "github.com/mcpbelt/mcpbelt/adapters/mcpgo"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
)

// watchFor watches a source for a time.
func watchFor(t *testing.T, s *belt.Source, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	if err := s.Watch(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Watch ended with %v", err)
	}
}

// A server that says with each list that the list has changed is asked less and less.
func TestWatchIsNotDrivenByTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lists atomic.Int64
		var w *wire
		w, s, r := scripted(t, func(context.Context, string, json.RawMessage) (string, error) {
			n := lists.Add(1)
			if n > 1000 {
				return "", errors.New("too often")
			}
			time.AfterFunc(50*time.Millisecond, w.changed)
			return fmt.Sprintf(`{"tools":[{"name":"t%d","inputSchema":{"type":"object"}}]}`, n), nil
		})
		watchFor(t, s, time.Minute)
		if n := lists.Load(); n < 10 || n > 20 {
			t.Errorf("it listed %d times in a minute", n)
		}
		synctest.Wait()
		if got, want := r.Snapshot().Tools()[0].Definition().Origin.Tool, fmt.Sprintf("t%d", lists.Load()); got != want {
			t.Errorf("the tool is %q, not %q", got, want)
		}
	})
}

// It stays so until the list has rested for longer than it is waited for.
func TestWatchRemembersAStorm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lists atomic.Int64
		var w *wire
		w, s, _ := scripted(t, func(context.Context, string, json.RawMessage) (string, error) {
			rest := 50 * time.Millisecond
			if lists.Add(1) > 8 {
				rest = time.Second
			}
			time.AfterFunc(rest, w.changed)
			return oneTool, nil
		})
		watchFor(t, s, time.Minute)
		if n := lists.Load(); n < 8 || n > 20 {
			t.Errorf("it listed %d times in a minute", n)
		}
	})
}

// After a success a failure is tried again soon.
func TestWatchForgetsFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lists atomic.Int64
		w, s, _ := scripted(t, func(context.Context, string, json.RawMessage) (string, error) {
			if n := lists.Add(1); n < 6 || n == 7 {
				return "", errors.New("down")
			}
			return oneTool, nil
		})
		background(t, func(ctx context.Context) { _ = s.Watch(ctx) })
		time.Sleep(time.Minute)
		w.changed()
		time.Sleep(1100 * time.Millisecond)
		if n := lists.Load(); n != 8 {
			t.Errorf("it listed %d times", n)
		}
	})
}

// Changes that have time between them are seen at once.
func TestWatchIsSwift(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lists atomic.Int64
		w, s, _ := scripted(t, func(context.Context, string, json.RawMessage) (string, error) {
			lists.Add(1)
			return oneTool, nil
		})
		background(t, func(ctx context.Context) { _ = s.Watch(ctx) })
		for i := range 20 {
			synctest.Wait()
			if n := lists.Load(); n != int64(i+1) {
				t.Fatalf("after %d changes it listed %d times", i, n)
			}
			time.Sleep(time.Second)
			w.changed()
		}
		synctest.Wait()
		for range 5 { // while it rests
			w.changed()
			synctest.Wait()
		}
		time.Sleep(time.Minute)
		if n := lists.Load(); n != 22 {
			t.Errorf("it listed %d times", n)
		}
	})
}

// A change while a list is on its way is not in that.
func TestWatchHearsWhileItLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lists atomic.Int64
		var w *wire
		w, s, r := scripted(t, func(context.Context, string, json.RawMessage) (string, error) {
			if lists.Add(1) == 1 {
				w.changed()
				time.Sleep(time.Second)
				return `{"tools":[]}`, nil
			}
			return oneTool, nil
		})
		watchFor(t, s, time.Minute)
		if n := lists.Load(); n != 2 || len(r.Snapshot().Tools()) != 1 {
			t.Errorf("it listed %d times; there are %d tools", n, len(r.Snapshot().Tools()))
		}
	})
}

func TestWatchGivesUpAListThatDoesNotCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lists atomic.Int64
		_, s, r := scripted(t, func(ctx context.Context, _ string, _ json.RawMessage) (string, error) {
			if lists.Add(1) == 1 {
				<-ctx.Done()
				return "", ctx.Err()
			}
			return oneTool, nil
		})
		watchFor(t, s, time.Hour)
		if len(r.Snapshot().Tools()) != 1 {
			t.Error("there are no tools")
		}
	})
}

// The list that was asked for last is the one that stays.
func TestRefreshesDoNotOvertakeEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lists atomic.Int64
		_, s, r := scripted(t, func(context.Context, string, json.RawMessage) (string, error) {
			if lists.Add(1) == 1 {
				time.Sleep(time.Second)
				return oneTool, nil
			}
			return `{"tools":[]}`, nil
		})
		var wg sync.WaitGroup
		wg.Go(func() { refresh(t, s) })
		synctest.Wait()
		wg.Go(func() { refresh(t, s) })
		wg.Wait()
		if len(r.Snapshot().Tools()) != 0 {
			t.Error("an old list has replaced the new one")
		}
	})
}

// A transport that does not heed contexts holds up nobody, and one list of it at most is
// on its way.
func TestRefreshEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lists atomic.Int64
		free := make(chan struct{})
		_, s, r := scripted(t, func(context.Context, string, json.RawMessage) (string, error) {
			lists.Add(1)
			<-free
			return oneTool, nil
		})
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if _, err := s.Refresh(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), `"crew"`) {
				t.Errorf("the error is %v", err)
			}
			cancel()
		}
		close(free)
		synctest.Wait()
		if n := lists.Load(); n != 1 || len(r.Snapshot().Tools()) != 0 {
			t.Errorf("it listed %d times; there are %d tools", n, len(r.Snapshot().Tools()))
		}
		if refresh(t, s); len(r.Snapshot().Tools()) != 1 {
			t.Error("it lists no more")
		}
	})
}

func TestListsThatAreTooLong(t *testing.T) {
	pages := 0
	_, s, _ := scripted(t, func(context.Context, string, json.RawMessage) (string, error) {
		pages++
		var tools []string
		for i := range 1000 {
			tools = append(tools, fmt.Sprintf(`{"name":"t%d_%d","inputSchema":{"type":"object"}}`, pages, i))
		}
		next := ""
		if pages != 5 {
			next = fmt.Sprint(pages)
		}
		return `{"tools":[` + strings.Join(tools, ",") + `],"nextCursor":"` + next + `"}`, nil
	})
	if diff := refresh(t, s); len(diff.Added) != 5000 {
		t.Errorf("there are %d tools", len(diff.Added))
	}
	var limit *mcp.LimitError
	if _, err := s.Refresh(t.Context()); !errors.As(err, &limit) || limit.Max != 5000 || pages != 11 {
		t.Errorf("after %d pages the error is %v", pages, err)
	}
}

// discovered is the answer of a server of revision 2026-07-28 that is asked what it is.
const discovered = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"crew","version":"1"}}`

// modern returns a source whose client speaks revision 2026-07-28.
func modern(t *testing.T, answer func(ctx context.Context, method string) (string, error)) (*wire, *belt.Source, *registry.Registry) {
	t.Helper()
	w := &wire{answer: func(ctx context.Context, method string, _ json.RawMessage) (string, error) {
		if method == "server/discover" {
			return discovered, nil
		}
		return answer(ctx, method)
	}}
	c := client.NewClient(w)
	r := registry.New(nil)
	return w, belt.NewSource(connect(t, c), registry.Server{Name: "crew"}, r), r
}

// Streams that a server ends at once are begun less and less often, and what it lists is
// not asked for each time.
func TestWatchOfAServerThatEndsStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var streams, lists atomic.Int64
		_, s, _ := modern(t, func(_ context.Context, method string) (string, error) {
			if method == "subscriptions/listen" {
				streams.Add(1)
				return "", refusalError{gomcp.JSONRPCErrorDetails{Code: -32601, Message: "no"}}
			}
			lists.Add(1)
			return oneTool, nil
		})
		watchFor(t, s, time.Hour)
		if n := streams.Load(); n < 60 || n > 70 || lists.Load() != 1 {
			t.Errorf("in an hour it listened %d times, and listed %d times", n, lists.Load())
		}
	})
}

// A stream that lasted was none that is refused.
func TestWatchListensAgainSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var streams atomic.Int64
		_, s, _ := modern(t, func(ctx context.Context, method string) (string, error) {
			if method == "subscriptions/listen" {
				streams.Add(1)
				select {
				case <-time.After(2 * time.Minute):
				case <-ctx.Done():
				}
				return `{}`, nil
			}
			return oneTool, nil
		})
		watchFor(t, s, time.Hour)
		if n := streams.Load(); n != 30 {
			t.Errorf("in an hour it listened %d times", n)
		}
	})
}

// The stream of another listener stays open.
func TestWatchDoesNotFightForTheStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{answer: func(ctx context.Context, method string, _ json.RawMessage) (string, error) {
			switch method {
			case "server/discover":
				return discovered, nil
			case "subscriptions/listen":
				<-ctx.Done()
				return "", ctx.Err()
			}
			return oneTool, nil
		}}
		c := connect(t, client.NewClient(w))
		s := belt.NewSource(c, registry.Server{Name: "crew"}, registry.New(nil))
		background(t, func(ctx context.Context) { _ = s.Watch(ctx) })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := c.Listen(ctx, gomcp.SubscriptionFilter{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the other stream ended with %v", err)
		}
	})
}

// What changes before a stream is there, its beginning tells.
func TestWatchListsWhenItListens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w *wire
		var listening atomic.Bool
		w, s, r := modern(t, func(ctx context.Context, method string) (string, error) {
			switch {
			case method == "subscriptions/listen":
				time.Sleep(time.Second)
				listening.Store(true)
				w.tell("notifications/subscriptions/acknowledged")
				<-ctx.Done()
				return "", ctx.Err()
			case listening.Load():
				return oneTool, nil
			}
			return `{"tools":[]}`, nil
		})
		watchFor(t, s, time.Minute)
		if len(r.Snapshot().Tools()) != 1 {
			t.Error("it has missed a change")
		}
	})
}

// Nobody knows what a client speaks before it is initialized.
func TestWatchBeforeInitialize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var streams atomic.Int64
		w := &wire{answer: func(ctx context.Context, method string, params json.RawMessage) (string, error) {
			switch method {
			case "server/discover":
				return discovered, nil
			case "subscriptions/listen":
				if strings.Contains(string(params), `"toolsListChanged":true`) && strings.Contains(string(params), `"promptsListChanged":true`) {
					streams.Add(1)
				}
				<-ctx.Done()
				return "", ctx.Err()
			}
			return oneTool, nil
		}}
		c := client.NewClient(w)
		r := registry.New(nil)
		s := belt.NewSource(c, registry.Server{Name: "crew"}, r)
		background(t, func(ctx context.Context) { _ = s.Watch(ctx) })
		synctest.Wait()
		connect(t, c)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		_ = c.Listen(ended, gomcp.SubscriptionFilter{PromptsListChanged: true}) // goes on with ours
		time.Sleep(5 * time.Second)
		if len(r.Snapshot().Tools()) != 1 || streams.Load() != 1 {
			t.Errorf("there are %d tools and %d streams", len(r.Snapshot().Tools()), streams.Load())
		}
	})
}
