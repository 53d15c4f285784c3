package admin_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/host/activity"
	"github.com/mcpbelt/mcpbelt/host/admin"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/manage"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/hosttest"
)

// A stream is what a listener reads.
type stream struct {
	cancel context.CancelFunc
	body   interface{ Close() error }
	lines  *bufio.Scanner
	last   string // the id of the last event
	tool   string // of the last event
}

// listen opens a stream of events after that of an id.
func (s *site) listen(after string, query ...string) (*stream, error) {
	ctx, cancel := context.WithCancel(hosttest.Watchdog(s.t))
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/api/v1/events"+strings.Join(query, ""), nil)
	if err != nil {
		cancel()
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer viewer")
	if after != "" {
		req.Header.Set("Last-Event-ID", after)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		cancel()
		return nil, err
	}
	l := &stream{cancel: cancel, body: res.Body, lines: bufio.NewScanner(res.Body), last: after}
	l.lines.Buffer(nil, 1<<20)
	if res.StatusCode != http.StatusOK || !l.lines.Scan() {
		l.close()
		return nil, fmt.Errorf("got %d, want 200 and a first line", res.StatusCode)
	}
	if l.lines.Text() == "event: reset" {
		l.last = "reset"
	}
	return l, nil
}

// close ends the stream, and drops what was not read of it.
func (l *stream) close() {
	l.cancel()
	l.lines = bufio.NewScanner(http.NoBody)
	_ = l.body.Close()
}

// next returns the server that the next event is about.
func (l *stream) next() (string, error) {
	id := ""
	for l.lines.Scan() {
		line := l.lines.Text()
		if rest, ok := strings.CutPrefix(line, "id: "); ok {
			id = rest
		}
		if rest, ok := strings.CutPrefix(line, "data: {\""); ok {
			var e activity.Event
			if err := json.Unmarshal([]byte("{\""+rest), &e); err != nil {
				return "", err
			}
			l.last, l.tool = id, e.Tool
			return e.Server, nil
		}
	}
	return "", fmt.Errorf("the stream has ended: %w", l.lines.Err())
}

// openFeed opens a site whose events are kept in a file, and returns its log.
func openFeed(t *testing.T, path string) (*site, *activity.Log, *admin.Feed) {
	t.Helper()
	file := assert.Value(activity.OpenFile(path))(t)
	feed := admin.NewFeed(file.Events)
	log := activity.New(nil, file, feed)
	t.Cleanup(func() {
		assert.Equal(t, log.Close(context.Background()), nil, "Close of the log")
		assert.Equal(t, feed.Close(), nil, "Close of the feed")
	})
	return open(t, &host.Options{}, &admin.Options{Feed: feed}, &config.Server{Name: "a", URL: "https://a.example/mcp"}), log, feed
}

// Listeners that come and go miss nothing and get nothing twice, also when the program is
// started again.
func TestListenersResume(t *testing.T) {
	listeners, events := assert.Cases(10, 200), assert.Cases(40, 400)
	path := filepath.Join(t.TempDir(), "activity.jsonl")
	first, log, feed := openFeed(t, path)
	sites := make(chan *site, 1)
	var opened, done sync.WaitGroup
	opened.Add(listeners)
	restarted := make(chan struct{})
	for n := range listeners {
		done.Go(func() {
			l, err := first.listen("")
			opened.Done()
			if err != nil {
				t.Errorf("listener %d: %v", n, err)
				return
			}
			where := first
			// next returns the next event, of the program that is there.
			next := func() string {
				for {
					got, err := l.next()
					if err == nil {
						return got
					}
					after := l.last
					l.close()
					for l, err = where.listen(after); err != nil; l, err = where.listen(after) {
						<-restarted // the program is gone
						where = <-sites
						sites <- where
					}
				}
			}
			for i := range events {
				if got, want := next(), fmt.Sprint("e", i); got != want {
					t.Errorf("listener %d: got %s, want %s", n, got, want)
					break
				}
				if i%listeners == n { // it goes, and comes again
					l.close()
				}
			}
			l.close()
		})
	}
	opened.Wait()
	record := func(log *activity.Log, from, to int) {
		for i := from; i < to; i++ {
			log.Record(t.Context(), activity.Event{Kind: "test", Server: fmt.Sprint("e", i)})
		}
		assert.Equal(t, log.Flush(t.Context()), nil, "Flush")
	}
	record(log, 0, events/2)
	assert.OK(t, feed.Close())
	second, log, _ := openFeed(t, path)
	sites <- second
	close(restarted)
	record(log, events/2, events)
	done.Wait()
}

// A listener whose last event is not known any more is told so.
func TestListenerReset(t *testing.T) {
	s, log, _ := openFeed(t, filepath.Join(t.TempDir(), "activity.jsonl"))
	for _, id := range []string{"nonsense", "1-00", "zzzzzzzzzzzz-00"} {
		l := assert.Value(s.listen(id))(t)
		assert.Equal(t, l.last, "reset", "after %s: the first event", id)
		log.Record(t.Context(), activity.Event{Kind: "test", Server: "new"})
		assert.Equal(t, assert.Value(l.next())(t), "new", "after %s", id)
		l.close()
	}
}

// A listener that folds is told once that a server fails, as long as it fails as before.
func TestListenerFolds(t *testing.T) {
	s, log, _ := openFeed(t, filepath.Join(t.TempDir(), "activity.jsonl"))
	l := assert.Value(s.listen("", "?fold=true"))(t)
	defer l.close()
	var want []string
	for i, e := range []struct {
		kind, to, err string
		told          bool
	}{
		{"state", "waiting", "refused at 1", true}, {"state", "starting", "", false}, {"state", "waiting", "refused at 2", false}, {"call", "", "", true},
		{"state", "starting", "", false}, {"state", "waiting", "not found", true}, {"state", "ready", "", true}, {"state", "starting", "", true}, {"call", "", "", true},
	} {
		tool := fmt.Sprint(i)
		log.Record(t.Context(), activity.Event{Kind: e.kind, Server: "down", Tool: tool, Error: e.err, Detail: map[string]string{"to": e.to}})
		if e.told {
			want = append(want, tool)
		}
	}
	for _, tool := range want {
		assert.Value(l.next())(t)
		assert.Equal(t, l.tool, tool, "the event that is told")
	}
	log.Record(t.Context(), activity.Event{Kind: "state", Server: "down", Error: "refused", Detail: map[string]string{"to": "waiting"}})
	assert.Value(l.next())(t)
	late := assert.Value(s.listen("", "?fold=true"))(t) // what it asks for once it listens says that the server fails
	defer late.close()
	for _, e := range []activity.Event{{Kind: "state", Server: "down", Error: "refused", Detail: map[string]string{"to": "waiting"}}, {Kind: "call", Tool: "next"}} {
		log.Record(t.Context(), e)
	}
	assert.Value(late.next())(t)
	assert.Equal(t, late.tool, "next", "what a listener is told first that comes when the server has failed")
}

// What happened is found by what it was, and its cursor is where the stream goes on.
func TestActivity(t *testing.T) {
	for _, kept := range []bool{true, false} {
		s, log, _ := openFeed(t, filepath.Join(t.TempDir(), "activity.jsonl"))
		if !kept {
			feed := admin.NewFeed(nil)
			log = activity.New(nil, feed)
			defer log.Close(context.Background())
			s = open(t, &host.Options{}, &admin.Options{Feed: feed})
		}
		for i := range 5 {
			log.Record(t.Context(), activity.Event{Kind: "call", Outcome: "ok", Server: fmt.Sprint("s", i%2), Tool: fmt.Sprint("t", i), User: "<b>ann"})
		}
		assert.OK(t, log.Flush(t.Context()))
		for _, c := range []struct {
			query string
			want  int
		}{
			{"server=s1", 2}, {"tool=t3", 1}, {"kind=call&outcome=ok", 5}, {"kind=login", 0}, {"kind=login&kind=call&limit=4", 4},
			{"until=2020-01-01T00:00:00Z", 0}, {"since=2020-01-01T00:00:00Z&user=%3Cb%3Eann", 5},
			{"q=S1", 2}, {"q=0__t", 3}, {"q=%3Eann", 5}, {"q=nothing", 0},
		} {
			var got []struct {
				Cursor string
				Event  activity.Event
			}
			a := s.do("viewer", "GET", "/api/v1/activity?"+c.query, "", nil)
			assert.OK(t, json.Unmarshal([]byte(a.body), &got), "%s: %d %s", c.query, a.status, a.body)
			assert.Equal(t, len(got), c.want, "%s: %d %s", c.query, a.status, a.body)
			if c.query == "tool=t3" && len(got) == 1 {
				l := assert.Value(s.listen(got[0].Cursor))(t)
				assert.Equal(t, assert.Value(l.next())(t), "s0", "after %s", c.query)
				l.close()
			}
		}
		var pages []string
		for before := ""; len(pages) < 6; {
			list := s.get("viewer", "/api/v1/activity?kind=call&limit=2&before="+before)
			if len(list) == 0 {
				break
			}
			for _, one := range list {
				before = one["cursor"].(string)
				pages = append(pages, one["event"].(map[string]any)["tool"].(string))
			}
		}
		assert.Equal(t, strings.Join(pages, " "), "t4 t3 t2 t1 t0", "events in pages of two")
		for _, bad := range []string{"limit=0", "limit=x", "since=yesterday", "until=x"} {
			a := s.do("viewer", "GET", "/api/v1/activity?"+bad, "", nil)
			assert.Equal(t, a.status, http.StatusBadRequest, "%s", bad)
			assert.Equal(t, a.header.Get("Content-Type"), "application/problem+json", "%s", bad)
		}
	}
}

// A listener whose key is revoked is told no more.
func TestListenerIsRevoked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := manage.New(host.New(&host.Options{StateDir: host.NoState}), record.NewMemoryStore(), nil)
		defer m.Close()
		feed := admin.NewFeed(nil)
		defer feed.Close()
		for name, c := range map[string]struct {
			caller *access.Caller
			err    error
			roles  []admin.Role
			ends   bool
		}{
			"nothing changes":  {&access.Caller{Credential: "key"}, nil, []admin.Role{admin.View}, false},
			"the key has gone": {nil, access.ErrUnrecognized, nil, true},
			"another's":        {&access.Caller{Credential: "other"}, nil, []admin.Role{admin.View}, true},
			"no role":          {&access.Caller{Credential: "key"}, nil, nil, true},
		} {
			var changed atomic.Bool
			h := assert.Value(admin.Handler(m, &admin.Options{
				Feed: feed,
				Authenticate: func(*http.Request) (*access.Caller, error) {
					if changed.Load() {
						return c.caller, c.err
					}
					return &access.Caller{Credential: "key"}, nil
				},
				Roles: func(*access.Caller) []admin.Role {
					if changed.Load() {
						return c.roles
					}
					return []admin.Role{admin.View}
				},
			}))(t)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/v1/events", nil))
			}()
			synctest.Wait()
			changed.Store(true)
			time.Sleep(time.Minute)
			select {
			case <-ended:
				assert.True(t, c.ends, "%s: the stream ends", name)
			default:
				assert.False(t, c.ends, "%s: the stream ends", name)
			}
			cancel()
			<-ended
		}
	})
}

// What happens while the log is read for a listener is told once, though it comes from both.
func TestListenerIsToldOnce(t *testing.T) {
	at := time.Now().UTC().Truncate(time.Second)
	event := func(n int) activity.Event {
		return activity.Event{ID: fmt.Sprint("id", n), Kind: "test", Server: fmt.Sprint("e", n), Time: at.Add(time.Duration(n) * time.Millisecond)}
	}
	var feed *admin.Feed
	var busy atomic.Bool
	feed = admin.NewFeed(func(*activity.Filter) iter.Seq2[activity.Event, error] {
		return func(yield func(activity.Event, error) bool) {
			newest := 1
			if busy.Load() {
				newest = 2
				assert.Equal(t, feed.Write(t.Context(), []activity.Event{event(2)}), nil)
			}
			for n := newest; n >= 0 && yield(event(n), nil); n-- {
			}
		}
	})
	defer feed.Close()
	s := open(t, &host.Options{}, &admin.Options{Feed: feed})
	list := s.get("viewer", "/api/v1/activity")
	busy.Store(true)
	l := assert.Value(s.listen(list[len(list)-1]["cursor"].(string)))(t)
	defer l.close()
	assert.OK(t, feed.Write(t.Context(), []activity.Event{event(3)}))
	for n := 1; n <= 3; n++ {
		assert.Equal(t, assert.Value(l.next())(t), fmt.Sprint("e", n))
	}
}

// One viewer leaves room for other listeners.
func TestListenersAreShared(t *testing.T) {
	f := admin.NewFeed(nil)
	for range admin.MaxListeners / 4 {
		assert.True(t, f.Listens("viewer"), "a quarter for one")
	}
	assert.False(t, f.Listens("viewer"), "more for one")
	assert.True(t, f.Listens("owner"), "another")
}
