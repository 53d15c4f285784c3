package host_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport"
)

// An acceptSeats is a server of many users in this process, whose tool waits for leave.
type acceptSeats struct {
	entered chan string
	leave   chan struct{}
	living  atomic.Int64
	most    atomic.Int64
}

func (seats *acceptSeats) transport(key session.Key, _ *config.Server) (mcp.Transport, error) {
	return &transport.Pipe{Serve: func(ctx context.Context, tr mcp.Transport) error {
		if n := seats.living.Add(1); n > seats.most.Load() {
			seats.most.Store(n)
		}
		defer seats.living.Add(-1)
		s := sdk.NewServer(&sdk.Implementation{Name: "s"}, sameSchemas)
		sdk.AddTool(s, &sdk.Tool{Name: "wait"}, func(ctx context.Context, _ *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
			seats.entered <- key.User
			select {
			case <-seats.leave:
				return acceptText(key.User), nil, nil
			case <-ctx.Done():
				return nil, nil, ctx.Err()
			}
		})
		sdk.AddTool(s, &sdk.Tool{Name: "now"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return acceptText(key.User), nil, nil
		})
		return s.Run(ctx, tr)
	}}, nil
}

func acceptSeatsHost(t *testing.T, places int, more func(*host.Options)) (*acceptSeats, *host.Host) {
	t.Helper()
	seats := &acceptSeats{entered: make(chan string, 100), leave: make(chan struct{})}
	opts := &host.Options{Transport: seats.transport, StateDir: host.NoState, MaxUserClients: places}
	if more != nil {
		more(opts)
	}
	h := acceptNew(t, opts, acceptFor(config.IdentityUser, acceptParse(t, "s", `{"command": "x"}`)))
	assert.OK(t, h.Discover(watchdog(t), session.Key{User: "first", Server: "s"}))
	return seats, h
}

// When all places are taken by calls under way, the next user waits, no longer than his
// context, and goes as soon as there is a place.
func TestAcceptPoolOfBusyUsers(t *testing.T) {
	const places = 4
	seats, h := acceptSeatsHost(t, places, nil)
	answers := make(chan string, places)
	for _, user := range acceptUsers(places) {
		go func() {
			text, err := acceptAnswer(h.Registry().Call(session.WithUser(watchdog(t), user), "s__wait", nil))
			if err != nil {
				text = err.Error()
			}
			answers <- text
		}()
		<-seats.entered
	}
	now := func(ctx context.Context, user string) (string, error) {
		return acceptAnswer(h.Registry().Call(session.WithUser(ctx, user), "s__now", nil))
	}
	// Who has a place can use it for more.
	if text, err := now(watchdog(t), "user0000"); err != nil || text != "user0000" {
		t.Errorf("a user with a place: %q, %v", text, err)
	}
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := now(short, "late"); !errors.Is(err, context.DeadlineExceeded) || mcp.OutcomeOf(err) != mcp.NotSent {
		t.Errorf("a user without a place: %v, outcome %v", err, mcp.OutcomeOf(err))
	}
	waiting := make(chan string, 10)
	for _, user := range []string{"w1", "w2", "w3", "w4", "w5", "w6"} {
		go func() {
			text, err := now(watchdog(t), user)
			if err != nil {
				text = err.Error()
			}
			waiting <- text
		}()
	}
	select {
	case text := <-waiting:
		t.Errorf("a user without a place got %q", text)
	default:
	}
	seats.leave <- struct{}{} // one place is free now, for one after the other
	var got []string
	for range 6 {
		got = append(got, <-waiting)
	}
	slices.Sort(got)
	if fmt.Sprint(got) != "[w1 w2 w3 w4 w5 w6]" {
		t.Errorf("the users who waited got %q", got)
	}
	close(seats.leave)
	for range places {
		if text := <-answers; !strings.HasPrefix(text, "user") {
			t.Errorf("a user with a place got %q", text)
		}
	}
	if most := seats.most.Load(); most > places {
		t.Errorf("there were %d connections with %d places", most, places)
	}
}

// Users who wait for a place learn that the host ends.
func TestAcceptShutdownWhileUsersWait(t *testing.T) {
	seats, h := acceptSeatsHost(t, 1, nil)
	busy := make(chan error, 1)
	go func() {
		_, err := acceptAnswer(h.Registry().Call(session.WithUser(watchdog(t), "busy"), "s__wait", nil))
		busy <- err
	}()
	<-seats.entered
	waiting := make(chan error, 5)
	for i := range 5 {
		go func() {
			_, err := acceptAnswer(h.Registry().Call(session.WithUser(watchdog(t), fmt.Sprint("w", i)), "s__now", nil))
			waiting <- err
		}()
	}
	down := make(chan error, 1)
	go func() { down <- h.Shutdown(watchdog(t)) }()
	for range 5 {
		// Some may not have come so far, and find no tool any more.
		var unknown *registry.UnknownToolError
		if err := <-waiting; !errors.Is(err, host.ErrClosed) && !errors.As(err, &unknown) {
			t.Errorf("a user who waited: %v", err)
		}
	}
	select {
	case err := <-down:
		t.Fatalf("Shutdown did not wait for the call under way: %v", err)
	default:
	}
	close(seats.leave)
	if err := <-busy; err != nil {
		t.Errorf("the call under way: %v", err)
	}
	if err := <-down; err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	assert.Equal(t, seats.living.Load(), 0, "servers live")
}

// The client of a user who does nothing is ended, and made again when he comes back.
func TestAcceptIdleUsersAreEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seats, h := acceptSeatsHost(t, 64, func(o *host.Options) { o.IdleTimeout = time.Minute })
		for _, user := range acceptUsers(20) {
			if text, err := acceptAnswer(h.Registry().Call(session.WithUser(t.Context(), user), "s__now", nil)); err != nil || text != user {
				t.Errorf("%q, %v", text, err)
			}
		}
		assert.Equal(t, seats.living.Load(), 21, "connections for 21 users")
		time.Sleep(59 * time.Second)
		if text, err := acceptAnswer(h.Registry().Call(session.WithUser(t.Context(), "user0003"), "s__now", nil)); err != nil || text != "user0003" {
			t.Errorf("%q, %v", text, err)
		}
		time.Sleep(30 * time.Second)
		synctest.Wait()
		assert.Equal(t, seats.living.Load(), 1, "connections; one user was not idle")
		time.Sleep(time.Hour)
		synctest.Wait()
		assert.Equal(t, seats.living.Load(), 0, "connections an hour later")
		assert.Equal(t, names(h), "s__now s__wait", "tools")
		if text, err := acceptAnswer(h.Registry().Call(session.WithUser(t.Context(), "user0003"), "s__now", nil)); err != nil || text != "user0003" {
			t.Errorf("%q, %v", text, err)
		}
		_ = h.Close()
	})
}

// An answer that the server lets everybody keep, and one that it lets its user keep, is
// for the connection that asked: two users never share one, even if the program lets
// all clients share a cache.
func TestAcceptCachedAnswersAreOfTheirUser(t *testing.T) {
	for _, scope := range []string{"private", "public"} {
		town := func(key session.Key, _ *config.Server) (mcp.Transport, error) {
			return mcptest.NewServer(t, mcptest.Handshake(mcp.Revision20260728, `{"tools":{},"resources":{}}`), mcptest.Script{
				"tools/list": mcptest.Result(fmt.Sprintf(
					`{"resultType":"complete","tools":[{"name":"t","description":"of %s","inputSchema":{"type":"object"}}],"ttlMs":600000,"cacheScope":%q}`, key.User, scope)),
				"tools/call": mcptest.Result(fmt.Sprintf(`{"resultType":"complete","content":[{"type":"text","text":%q}]}`, key.User)),
				"resources/read": mcptest.Result(fmt.Sprintf(
					`{"resultType":"complete","contents":[{"uri":"a:mine","text":%q}],"ttlMs":600000,"cacheScope":%q}`, key.User, scope)),
			}), nil
		}
		opts := &host.Options{Transport: town, StateDir: host.NoState}
		opts.Client.Cache = mcp.NewCache(1 << 20)
		h := acceptNew(t, opts, acceptFor(config.IdentityUser, acceptParse(t, "s", `{"command": "x"}`)))
		assert.OK(t, h.Discover(watchdog(t), session.Key{User: "ann", Server: "s"}))
		for _, user := range []string{"ann", "bob", "ann"} {
			c := assert.Value(h.Client(watchdog(t), session.Key{User: user, Server: "s"}))(t)
			res := assert.Value(c.ReadResource(watchdog(t), "a:mine", nil))(t)
			if got := res.Contents[0].Text; got != user {
				t.Errorf("%s: %s read what is of %s", scope, user, got)
			}
			_, err := acceptAnswer(h.Registry().Call(session.WithUser(watchdog(t), user), "s__t", nil))
			if (err == nil) != (user == "ann") {
				t.Errorf("%s: %s calls the tool that was examined as that of ann: %v", scope, user, err)
			}
		}
	}
}

// The key says whose client it is; without a user it is that of the context.
func TestAcceptClientOfTheContextsUser(t *testing.T) {
	_, h := acceptSeatsHost(t, 8, nil)
	ann := session.WithUser(watchdog(t), "ann")
	a := assert.Value(h.Client(ann, session.Key{Server: "s"}))(t)
	same, err := h.Client(watchdog(t), session.Key{User: "ann", Server: "s"})
	if err != nil || same != a {
		t.Errorf("the client by the key is another one: %v", err)
	}
	b, err := h.Client(ann, session.Key{User: "bob", Server: "s"})
	if err != nil || b == a {
		t.Errorf("the client of the key's user is that of the context's: %v", err)
	}
	var unknown *host.UnknownServerError
	if _, err := h.Client(ann, session.Key{User: "ann", Server: "none"}); !errors.As(err, &unknown) {
		t.Errorf("no such server: %v", err)
	}
}
