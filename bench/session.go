package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// A call is one call of a tool, with what it must answer.
type call struct {
	tool string
	args json.RawMessage
	text string // the answer; if it is empty, any of size bytes
	size int
}

// echo returns a small call. Each caller has its own, so that an answer that
// went to another caller is seen.
func echo(caller int) call {
	text := fmt.Sprintf("hello from caller %02d", caller)
	return call{tool: "echo", args: json.RawMessage(fmt.Sprintf(`{"text":%q}`, text)), text: text}
}

func big() call { return call{tool: "big", args: json.RawMessage(`{}`), size: bigSize} }

// check reports a wrong answer.
func (c *call) check(text string) error {
	if c.text != "" && text != c.text || c.text == "" && len(text) != c.size {
		return fmt.Errorf("%s answered %d bytes: %.80q", c.tool, len(text), text)
	}
	return nil
}

// A session is one client's connection to a neutral server.
type session interface {
	// Call calls a tool and checks its answer.
	Call(ctx context.Context, c *call) error
	// List lists the tools and returns how many there are.
	List(ctx context.Context) (int, error)
	Close() error
}

// How a client reaches its server. Those over HTTP are paths of the server too.
const (
	linkStdio    = "stdio"
	linkRegistry = "registry" // over stdio; the calls go through a registry
	linkHTTP     = "mcp"      // JSON answers
	linkSSE      = "sse"      // answers are streams of one event
	linkListen   = "listen"   // JSON answers, and a listening stream
)

// A dialer makes sessions of one client.
type dialer struct {
	stdio func(ctx context.Context, program string, args []string) (session, error)
	http  func(ctx context.Context, url string) (session, error)
	// listen is http with a listening stream held open.
	listen func(ctx context.Context, url string) (session, error)
	// registry puts a registry before a session over stdio. It is nil for a client
	// that has none.
	registry func(ctx context.Context, s session) (session, error)
}

// Names of what is measured.
const (
	peerFloor = "floor"
	peerOurs  = "ours"
	peerSDK   = "SDK"
	peerMark  = "mcp-go"
)

// peers are the names in the order of the columns.
func peers() []string { return []string{peerFloor, peerOurs, peerSDK, peerMark} }

func dialerOf(peer string) (dialer, error) {
	switch peer {
	case peerFloor:
		return dialer{dialFloorPipe, dialFloorHTTP, dialFloorListen, noRegistry}, nil
	case peerOurs:
		return dialer{dialOursPipe, dialOursHTTP, dialOursHTTP, dialOursRegistry}, nil
	case peerSDK:
		return dialer{dialSDKPipe, dialSDKHTTP, dialSDKHTTP, nil}, nil
	case peerMark:
		return dialer{dialMarkPipe, dialMarkHTTP, dialMarkListen, nil}, nil
	default:
		return dialer{}, fmt.Errorf("%q is none of %s", peer, strings.Join(peers(), ", "))
	}
}

// tuned returns an HTTP transport that keeps a connection for each of the
// callers; the default keeps two. All clients get one that take one.
func tuned() *http.Transport {
	return &http.Transport{MaxIdleConns: 2 * manyCallers, MaxIdleConnsPerHost: 2 * manyCallers}
}
