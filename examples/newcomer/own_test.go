// Tests of doc.go: a transport and a test of one's own.

package newcomer

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/mcp/cassette"
	"github.com/mcpbelt/mcpbelt/mcp/mcptest"
	"github.com/mcpbelt/mcpbelt/registry/result"
	"github.com/mcpbelt/mcpbelt/session"
	"github.com/mcpbelt/mcpbelt/transport/transporttest"
)

// A framed transport sends each message over TCP with its length before it.
type framed struct{ addr string }

func (f framed) Connect(ctx context.Context) (mcp.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", f.addr)
	if err != nil {
		return nil, err
	}
	return &frames{Conn: conn}, nil
}

type frames struct {
	net.Conn
	writing sync.Mutex
	closing sync.Once
}

func (f *frames) Read(ctx context.Context) (jsonrpc.Message, error) {
	defer context.AfterFunc(ctx, func() { _ = f.Close() })()
	var size uint32
	if err := binary.Read(f.Conn, binary.BigEndian, &size); err != nil {
		return nil, cmp.Or(ctx.Err(), err)
	}
	data := make([]byte, min(size, 16<<20))
	if _, err := io.ReadFull(f.Conn, data); err != nil {
		return nil, cmp.Or(ctx.Err(), err)
	}
	return jsonrpc.DecodeMessage(data)
}

func (f *frames) Write(ctx context.Context, m jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	f.writing.Lock()
	defer f.writing.Unlock()
	if err := ctx.Err(); err != nil {
		return mcp.WithOutcome(err, mcp.NotSent)
	}
	_, err = f.Conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), data...))
	return err
}

func (f *frames) Close() error {
	f.closing.Do(func() { _ = f.Conn.Close() })
	return nil
}

func (f *frames) SessionID() string { return "" }

type once struct{ mcp.Conn }

func (o once) Connect(context.Context) (mcp.Conn, error) { return o.Conn, nil }

// serve serves each connection to a port by a server of the kit, until the test ends.
func serve(t *testing.T) (addr string) {
	listener := assert.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	var serving sync.WaitGroup
	t.Cleanup(func() {
		_ = listener.Close()
		serving.Wait()
	})
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { _ = transporttest.NewServer().Run(context.Background(), once{&frames{Conn: conn}}) })
		}
	})
	return listener.Addr().String()
}

func TestOwnTransport(t *testing.T) {
	transporttest.TestTransport(t, func(t *testing.T) transporttest.Recipe {
		return transporttest.Recipe{Transport: framed{serve(t)}}
	})
}

// A file names the transport by the scheme of a URL.
func TestOwnTransportOfFile(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	ctx, file := t.Context(), filepath.Join(t.TempDir(), "mcp.json")
	assert.OK(t, os.WriteFile(file, []byte(`{"mcpServers":{"lab":{"url":"frames://`+serve(t)+`"}}}`), 0o600))
	h, err := host.Open(ctx, file, &host.Options{
		Config: &config.Options{Transports: []string{"frames"}},
		Transport: func(_ session.Key, s *config.Server) (mcp.Transport, error) {
			addr, mine := strings.CutPrefix(s.URL, "frames://")
			if !mine {
				return nil, nil // the host makes it
			}
			return framed{addr}, nil
		},
	})
	assert.OK(t, err)
	defer func() { assert.OK(t, h.Close()) }()
	for s := range h.Registry().Watch(ctx) {
		if len(s.Tools()) > 0 {
			break
		}
	}
	res, err := h.Registry().Call(ctx, "lab__echo", json.RawMessage(`{"text":"hi"}`))
	assert.OK(t, err)
	assert.Equal(t, result.Text(res), "hi")
}

// A test of an agent: the server is lost in the middle of a call; and later it is played back from a file.
func TestFaultsAndCassette(t *testing.T) {
	forecast := mcptest.Result(`{"content":[{"type":"text","text":"rain"}]}`)
	server := scripted(t, mcptest.Result(tool("Tell the weather")), mcptest.Sequence(mcptest.Disconnect, forecast))
	file := filepath.Join(t.TempDir(), "weather.json")
	recorder := cassette.Record(server, nil)
	call := func(tr mcp.Transport, args string) (*mcp.CallToolResult, error) {
		c := mcp.NewClient("weather", tr, nil)
		defer func() { assert.OK(t, c.Close()) }()
		return c.CallTool(t.Context(), "run", json.RawMessage(args), nil)
	}
	_, err := call(recorder, `{}`)
	assert.As[*mcp.OutcomeUnknownError](t, err)
	res, err := call(recorder, `{"city":"Paris"}`)
	assert.OK(t, err)
	assert.Equal(t, res.Text(), "rain")
	assert.OK(t, recorder.Save(file))

	played := assert.Value(cassette.Replay(file, nil))(t)
	res, err = call(played, `{"city":"Paris"}`)
	assert.OK(t, err)
	assert.Equal(t, res.Text(), "rain")
	_, err = call(played, `{"city":"Rome"}`)
	assert.As[*cassette.UnrecordedError](t, err)
	assert.Equal(t, mcp.OutcomeOf(err), mcp.NotSent)
}
