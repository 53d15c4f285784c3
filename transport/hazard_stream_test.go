package transport_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// A listening stream that is refused when it is opened again is the end of the
// stream only.
func TestHTTPListeningStreamRefusedLater(t *testing.T) {
	server := func(t *testing.T, connected <-chan struct{}) (string, <-chan struct{}) {
		var gets atomic.Int32
		refused := make(chan struct{})
		s := once(func(p *post) { p.json(200, called) })
		s.get = func(w http.ResponseWriter, r *http.Request) {
			switch gets.Add(1) {
			case 1:
				(&post{ResponseWriter: w, r: r}).stream("id: 1\nretry: 1\n" + event(`{"jsonrpc":"2.0","method":"notifications/x"}`))
			case 2:
				select {
				case <-connected:
				case <-r.Context().Done():
				}
				w.WriteHeader(http.StatusUnauthorized)
				close(refused)
			default:
				w.WriteHeader(http.StatusUnauthorized)
			}
		}
		return listen(t, s), refused
	}
	connected := make(chan struct{})
	url, refused := server(t, connected)
	client := ours(t, &transport.HTTP{URL: url})
	close(connected)
	select {
	case <-refused:
	case <-bounded(t).Done():
		t.Fatal("the stream is not opened again")
	}
	client.again(t)

	connected = make(chan struct{})
	url, _ = server(t, connected)
	client = bare(t, bareHTTP(t, url)) // which a refusal before it is connected fails
	close(connected)
	if !client.ends(t) {
		mended(t, "transport/httpstream.go")
	}
}

// A listening stream of either kind that the server leaves without a response
// holds up neither the handshake nor the calls.
func TestHTTPListeningStreamWithoutResponse(t *testing.T) {
	t.Parallel()
	const (
		discover = `{"jsonrpc":"2.0","id":$ID,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],` +
			`"capabilities":{"tools":{"listChanged":true}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}}}`
		complete = `{"jsonrpc":"2.0","id":$ID,"result":{"resultType":"complete","content":[]}}`
	)
	for _, revision := range []string{mcp.Revision20251125, mcp.Revision20260728} {
		t.Run(revision, func(t *testing.T) {
			listening := make(chan struct{})
			s := &script{
				get: func(_ http.ResponseWriter, r *http.Request) { close(listening); <-r.Context().Done() },
				call: func(p *post) {
					switch {
					case p.Method == "server/discover" && revision == mcp.Revision20260728:
						p.json(200, discover)
					case p.Method == "subscriptions/listen":
						close(listening)
						p.hangs()
					case p.Method == "tools/call":
						p.json(200, complete)
					default:
						p.json(200, unknown)
					}
				},
			}
			client := ours(t, &transport.HTTP{URL: listen(t, s)})
			select {
			case <-listening:
			case <-bounded(t).Done():
				t.Fatal("nothing listens")
			}
			if err := client.call(bounded(t), "x"); err != nil {
				t.Error(err)
			}
			client.close()
		})
	}
}

// Tools that changed before a listening stream was open are read again, if the handshake
// has not waited for it.
func TestHTTPListeningStreamOpensLate(t *testing.T) {
	t.Parallel()
	ready := make(chan struct{})
	s := once(func(p *post) { p.json(200, called) })
	s.get = func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-ready:
			(&post{ResponseWriter: w, r: r}).stream("")
		case <-r.Context().Done():
		}
		<-r.Context().Done()
	}
	client := mcp.NewClient("s", &transport.HTTP{URL: listen(t, s)}, nil)
	defer client.Close()
	assert.OK(t, client.Ready(bounded(t)))
	before := client.State().ToolsVersion
	close(ready)
	for state := range client.Watch(bounded(t)) {
		if state.ToolsVersion > before {
			return
		}
	}
	t.Error("got no change of the tools, want one")
}

// The context in which a connection is made bounds the making alone.
func TestSSEOutlivesItsConnecting(t *testing.T) {
	server := func(t *testing.T) string {
		return listen(t, newOldServer(func(p *post, events chan<- string) {
			switch p.Method {
			case "initialize":
				events <- p.fill(initialized)
			case "tools/call":
				events <- p.fill(called)
			case "server/discover":
				events <- p.fill(unknown)
			}
			p.WriteHeader(http.StatusAccepted)
		}))
	}
	var cancel context.CancelFunc
	sse := &transport.SSE{URL: server(t)}
	client := ours(t, connecting(func(ctx context.Context) (mcp.Conn, error) {
		ctx, cancel = context.WithCancel(ctx)
		return sse.Connect(ctx)
	}))
	cancel()
	client.again(t)

	rt := http.DefaultTransport.(*http.Transport).Clone()
	defer rt.CloseIdleConnections()
	old := &sdk.SSEClientTransport{Endpoint: server(t), HTTPClient: &http.Client{Transport: rt}}
	client = bare(t, connecting(func(ctx context.Context) (mcp.Conn, error) {
		ctx, cancel = context.WithCancel(ctx)
		return old.Connect(ctx)
	}))
	cancel()
	if !client.ends(t) {
		mended(t, "transport/sse.go")
	}
}

// A connecting function is a transport.
type connecting func(context.Context) (mcp.Conn, error)

func (f connecting) Connect(ctx context.Context) (mcp.Conn, error) { return f(ctx) }

// A user who declines to log in is asked once in an attempt to connect.
func TestHTTPAsksOnceToLogIn(t *testing.T) {
	declined := errors.New("the user declined")
	server := func(t *testing.T) (string, *login) {
		l := &login{authorize: func(int) (string, error) { return "", declined }}
		return listen(t, guarded(&script{}, func() string { return "t" })), l
	}
	url, user := server(t)
	client := mcp.NewClient("server", &transport.HTTP{URL: url, OAuth: user}, nil)
	if err := client.Ready(bounded(t)); !errors.Is(err, declined) {
		t.Errorf("got %v", err)
	}
	_ = client.Close()
	assert.Equal(t, user.asked, 1, "asked times")

	url, user = server(t)
	tr := bareHTTP(t, url)
	tr.OAuthHandler = user
	_, err := sdk.NewClient(&sdk.Implementation{Name: "bare", Version: "1"}, nil).Connect(bounded(t), tr, nil)
	if err == nil || user.asked == 1 {
		mended(t, "transport/httpcontrol.go")
	}
}

// The older transport logs in as the newer one does.
func TestSSELogsIn(t *testing.T) {
	user := &login{authorize: func(int) (string, error) { return "t", nil }}
	url := listen(t, guarded(newOldServer(accept), func() string { return "t" }))
	l := dial(t, &transport.SSE{URL: url, OAuth: user})
	if got, err := ask(t, l); err != nil || got != `{"ok":true}` || user.asked != 1 {
		t.Errorf("got %s, %v after %d logins", got, err, user.asked)
	}
}
