// Package wildtest has a server for tests whose tools, and the answers of which, are JSON that few
// programs keep as it is: numbers that no float64 holds, unknown members and blocks, escapes.
package wildtest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/transport"
)

// ServerMode in the environment makes the test binary a server on standard input.
const ServerMode = "MCPBELT_WILD_SERVER"

// A wild writes JSON that few programs keep as it is. The same seed makes the same JSON.
type wild struct {
	*rand.Rand
	keys int
}

func newWild(seed uint64) *wild { return &wild{Rand: rand.New(rand.NewPCG(seed, 1))} }

func numbers() []string {
	return []string{
		"0", "-0", "7", "0.10", "1.0", "1e400", "-1E+400", "1e-400", "9007199254740993", "-12345678901234567891", "1e2", "100000000000000000000.50",
	}
}

func texts() []string {
	return []string{
		`""`, `"a"`, `"\u0061"`, `"\/"`, `"/"`, `"\u2028"`, "\"\u2028\u2029\"", `"é"`, `"\u00e9"`, `"\ud83d\ude00"`, "\"\U0001f600\"",
		`"\"\\\b\f\n\r\t"`, `"<>&\u003c"`, `"null"`, `"\u007f"`,
	}
}

func blocks() []string {
	return []string{
		`{"type":"text","text":%s,"x":%s}`, `{"text":%s,"_meta":{"k":%s},"type":"text"}`, `{"type":"video","uri":%s,"n":%s}`,
		`{"type":"image","mimeType":"image/png","data":"AAEC","a":%s,"b":%s}`, `{"type":"resource_link","name":%s,"uri":"file:///a","size":%s}`,
		`{"type":"resource","resource":{"uri":"file:///a","text":%s,"x":%s}}`, `[%s,%s]`, `{"kind":%s,"n":%s}`,
		`{"type":"text","annotations":{"priority":0.50,"x":%[2]s},"text":%[1]s}`, `{"type":"tool_use","id":%s,"input":{"n":%s}}`,
	}
}

func (w *wild) one(of []string) string { return of[w.IntN(len(of))] }

func (w *wild) space() string { return w.one([]string{"", "", " ", "\t "}) }

// key returns a key that no object has twice, and that the protocol does not know.
func (w *wild) key() string {
	w.keys++
	return fmt.Sprintf(`"x%d%s`, w.keys, w.one(texts())[1:])
}

func (w *wild) value(depth int) string {
	switch n := w.IntN(8); {
	case n < 3:
		return w.one(numbers())
	case n < 5:
		return w.one(texts())
	case n < 6 || depth == 0:
		return w.one([]string{"true", "false", "null", "{}", "[]"})
	case n < 7:
		return "[" + w.space() + w.value(depth-1) + w.space() + "," + w.value(depth-1) + "]"
	}
	return w.object(depth - 1)
}

// object returns an object with the given members, among others, in some order.
func (w *wild) object(depth int, members ...string) string {
	for range w.IntN(3) {
		members = append(members, w.key()+w.space()+":"+w.space()+w.value(depth))
	}
	w.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	return "{" + w.space() + strings.Join(members, w.space()+","+w.space()) + w.space() + "}"
}

// Arguments returns arguments of the call with a seed, on one line or several.
func Arguments(seed uint64) string {
	return strings.ReplaceAll(newWild(seed).object(3, fmt.Sprintf(`"seed":%d`, seed)), "\t", "\r\n")
}

// Result returns the result of the call with a seed, and of these arguments.
func Result(seed uint64, arguments string) string {
	w := newWild(^seed)
	content := make([]string, w.IntN(4))
	for i := range content {
		content[i] = fmt.Sprintf(w.one(blocks()), w.one(texts()), w.value(2))
	}
	members := []string{`"args":` + strings.NewReplacer("\r", " ", "\n", " ").Replace(arguments), `"content":[` + strings.Join(content, ",") + "]"}
	if w.IntN(2) == 0 {
		members = append(members, `"_meta":`+w.object(3))
	}
	if w.IntN(2) == 0 {
		members = append(members, `"structuredContent":`+w.object(3))
	}
	if w.IntN(4) == 0 {
		members = append(members, `"isError":`+w.one([]string{"true", "false"}))
	}
	return w.object(2, members...)
}

// Tool returns the definition of a tool.
func Tool(seed uint64) string {
	w := newWild(seed)
	return w.object(3, fmt.Sprintf(`"name":"t%d"`, seed), `"description":`+w.one([]string{`"b\u0061d"`, `"good"`, `"\/ 1.0"`}),
		`"inputSchema":`+w.one([]string{`{ "type":"object"}`, `{"type":"object","default":{"n":1.0}}`, `{"properties":{"a":{"const":12345678901234567891}},"type":"object"}`}),
		`"annotations":{"n":`+w.one(numbers())+`,"readOnlyHint":true}`, `"_meta":`+w.object(3))
}

// Page is how many wild tools a server lists.
const Page = 500

// Answer answers a request as a server whose tools begin with the given seed. There is
// no answer to a notification.
func Answer(message []byte, first uint64) []byte {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct {
			ProtocolVersion string
			Arguments       json.RawMessage
		}
	}
	if json.Unmarshal(message, &m) != nil || m.ID == nil {
		return nil
	}
	result := ""
	switch m.Method {
	case "initialize":
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"wild","version":"1"}}`
	case "tools/list":
		tools := make([]string, Page)
		for i := range tools {
			tools[i] = Tool(first + uint64(i))
		}
		result = `{"tools":[{"name":"any","inputSchema":{"type":"object"}},` + strings.Join(tools, ",") + `]}`
	case "tools/call":
		var args struct{ Seed uint64 }
		_ = json.Unmarshal(m.Params.Arguments, &args) // wild numbers fit no type
		result = Result(args.Seed, string(m.Params.Arguments))
	default:
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown"}}`, m.ID)
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

// serve is a server on standard input and output.
func serve(first string) {
	var seed uint64
	_, _ = fmt.Sscan(first, &seed)
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		if answer := Answer(line, seed); answer != nil {
			_, _ = os.Stdout.Write(append(answer, '\n'))
		}
	}
}

// Handler serves such a server over HTTP: at /json answers are JSON, and else event streams.
func Handler(first uint64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		message, err := io.ReadAll(r.Body)
		answer := Answer(message, first)
		switch {
		case err != nil || r.Method != http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case answer == nil:
			w.WriteHeader(http.StatusAccepted)
		case r.URL.Path == "/json":
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(answer)
		default:
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, "event: message\ndata: %s\n\n", answer)
		}
	})
}

// Transports returns ways to such a server. In TestMain the test binary has to call Begin.
func Transports(t *testing.T, first uint64) map[string]mcp.Transport {
	t.Helper()
	served := httptest.NewServer(Handler(first))
	t.Cleanup(served.Close)
	return map[string]mcp.Transport{
		"stdio": &transport.Command{Path: os.Args[0], Env: []string{fmt.Sprintf("%s=%d", ServerMode, first), "GORACE=" + os.Getenv("GORACE")}},
		"json":  &transport.HTTP{URL: served.URL + "/json"},
		"sse":   &transport.HTTP{URL: served.URL + "/sse"},
	}
}

// Begin makes the test binary the server, and reports true at its end, if the environment says so.
func Begin() bool {
	first, ok := os.LookupEnv(ServerMode)
	if ok {
		serve(first)
	}
	return ok
}

// SameTokens reports how two JSON texts differ in more than white space.
func SameTokens(got, want []byte) error {
	g, w := json.NewDecoder(bytes.NewReader(got)), json.NewDecoder(bytes.NewReader(want))
	g.UseNumber()
	w.UseNumber()
	for {
		one, err := g.Token()
		other, wantErr := w.Token()
		if one != other || !errors.Is(err, wantErr) {
			return fmt.Errorf("got %v (%w) before byte %d of\n%s\nwant %v (%w) as in\n%s", one, err, g.InputOffset(), got, other, wantErr, want)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
