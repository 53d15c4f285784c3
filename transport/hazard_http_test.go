package transport_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

const (
	called  = `{"jsonrpc":"2.0","id":$ID,"result":{"content":[]}}`
	unknown = `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32601,"message":"unknown method"}}`
)

// once returns a server that answers its first call of a tool in its own way,
// and all later ones as it should. It speaks an older revision.
func once(first func(*post)) *script {
	var began atomic.Bool
	return &script{call: func(p *post) {
		switch {
		case p.Method != "tools/call":
			p.json(200, unknown)
		case began.Swap(true):
			p.json(200, called)
		default:
			first(p)
		}
	}}
}

// What becomes of one call matters to that call alone.
func TestHTTPOneAnswerIsOneAnswer(t *testing.T) {
	const place = "transport/http.go"
	for name, c := range map[string]struct {
		first   func(*post)
		want    mcp.Outcome // of the first call
		answers bool        // the first call succeeds
	}{
		"401": {first: func(p *post) { p.WriteHeader(401) }, want: mcp.NotSent},
		"403": {first: func(p *post) { p.WriteHeader(403) }, want: mcp.NotSent},
		"413": {first: func(p *post) { p.WriteHeader(413) }, want: mcp.NotSent},
		"line without a colon": {
			first:   func(p *post) { p.stream("data\nnonsense\n\n" + event(called)) },
			answers: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			client := ours(t, &transport.HTTP{URL: listen(t, once(c.first))})
			if err := client.call(bounded(t), "x"); c.answers && err != nil {
				t.Errorf("the first call: %v", err)
			} else if !c.answers {
				wantOutcome(t, err, c.want)
			}
			client.again(t)

			client = bare(t, bareHTTP(t, listen(t, once(c.first))))
			first, second := client.call(bounded(t), "x"), client.call(bounded(t), "x")
			if first == nil || !client.ended(second) {
				mended(t, place)
			}
		})
	}
}

// A caller who leaves in the middle of an answer takes nobody with him.
func TestHTTPLeavingIsNoHarm(t *testing.T) {
	leave := func(t *testing.T, connect func(url string, rt http.RoundTripper) outing) (outing, error) {
		url := listen(t, once(func(p *post) {
			p.Header().Set("Has-Begun", "yes")
			p.json(200, `{"jsonrpc":"2.0",`)
			p.ResponseWriter.(http.Flusher).Flush()
			p.hangs()
		}))
		ctx, cancel := context.WithCancel(bounded(t))
		client := connect(url, roundTripper(func(r *http.Request) (*http.Response, error) {
			resp, err := http.DefaultTransport.RoundTrip(r)
			if err == nil && resp.Header.Get("Has-Begun") != "" {
				cancel()
			}
			return resp, err
		}))
		return client, client.call(ctx, "x")
	}
	client, err := leave(t, func(url string, rt http.RoundTripper) outing {
		return ours(t, &transport.HTTP{URL: url, RoundTripper: rt})
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	wantOutcome(t, err, mcp.Unknown)
	client.again(t)

	client, err = leave(t, func(url string, rt http.RoundTripper) outing {
		return bare(t, &sdk.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: rt}})
	})
	if err == nil || !client.ends(t) {
		mended(t, "transport/http.go")
	}
}

// A session that the server forgot is replaced by a new one, whatever the body
// says about it, and the call that found out is sent again.
func TestHTTPForgottenSessionIsReplaced(t *testing.T) {
	for name, forget := range map[string]func(*post){
		"no body": func(p *post) { p.WriteHeader(404) },
		"error":   func(p *post) { p.json(404, `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"m"}}`) },
		"error with id": func(p *post) {
			p.json(404, `{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"m"}}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := func() string {
				s := &script{}
				s.call = func(p *post) {
					switch {
					case p.Method != "tools/call":
						p.json(200, unknown)
					case s.notes("notifications/initialized") < 2:
						forget(p)
					default:
						p.json(200, called)
					}
				}
				return listen(t, s)
			}
			client := ours(t, &transport.HTTP{URL: server()})
			if err := client.call(bounded(t), "x"); err != nil {
				t.Error(err)
			}

			client = bare(t, bareHTTP(t, server()))
			first, second := client.call(bounded(t), "x"), client.call(bounded(t), "x")
			if first == nil || second == nil {
				mended(t, "transport/http.go")
			}
		})
	}
}
