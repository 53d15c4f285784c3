package adaptertest

import (
	"cmp"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/providercheck"
)

// Ollama is the wire of the chat API of Ollama. Its server refuses little, and drops
// what it does not know; this one refuses what would be dropped.
type Ollama struct {
	// WithoutIDs is a server before calls had ids.
	WithoutIDs bool
}

// ollamaMark is where the server puts an image, even in the text of a tool.
var ollamaMark = regexp.MustCompile(`\[img(-[0-9]+)?\]`)

// Read refuses what the server would refuse, or drop, or fail at. The prompts of models know
// results by their order.
func (o Ollama) Read(r *http.Request, body []byte) (*Request, error) {
	c, err := begin(r, r.URL.Path == "/api/chat", body, "ollamaRequest")
	if err != nil {
		return nil, err
	}
	stream := c.body.Get("stream")
	c.Stream = stream == nil || stream.IsTrue()
	err = errors.Join(c.each("tools", func(_ int, t *providercheck.Node) error {
		f, schema := t.Get("function"), t.Get("function").Get("parameters")
		return c.declare(t, f, schema, func(declaration []byte) []string {
			problems := providercheck.Ollama(declaration)
			var shown any // the prompts of models print it decoded
			if json.Unmarshal(declaration, &shown) != nil || ollamaMark.MatchString(fmt.Sprint(shown)) {
				problems = append(problems, "invalid image index")
			}
			if seen, err := providercheck.SeenByOllama(declaration); err == nil && !sameJSON(seen.Write(), schema.Write()) {
				problems = append(problems, "of "+schema.Write()+" the server would keep "+seen.Write())
			}
			return problems
		})
	}), c.each("messages", func(_ int, m *providercheck.Node) error {
		text := m.Str("content")
		if m.Get("role").Says("tool") {
			return c.result(Result{CallID: m.Str("tool_call_id"), Name: m.Str("tool_name"), Text: text}, true)
		}
		err := c.answered()
		switch m.Str("role") {
		case "user":
			_, media, bad := content(m.Get("images"), func(image *providercheck.Node) (kind, data string) {
				raw, _ := base64.StdEncoding.DecodeString(image.Text)
				if kind = http.DetectContentType(raw); kind != "image/png" && kind != "image/jpeg" && kind != "image/webp" {
					kind = "not decoded"
				}
				return kind, image.Text
			})
			err = errors.Join(err, bad)
			c.said(text, media)
		case "assistant":
			for _, call := range m.Get("tool_calls").List() {
				if (call.Str("id") == "") != o.WithoutIDs {
					err = fmt.Errorf("a call %s", call.Write())
				}
				delete(c.ids, call.Str("id")) // it need not be unique
				err = errors.Join(err, c.call(call.Str("id"), call.Get("function").Str("name")))
			}
		}
		return err
	}), c.answered())
	return c.Request, err
}

// Write answers as the server does: in lines, each a piece, unless the request says
// that it wants one.
func (o Ollama) Write(w http.ResponseWriter, req *Request, reply Reply) {
	var calls []any
	for i, c := range reply.Calls {
		call := object{"function": object{"index": i, "name": c.Name, "arguments": c.Arguments}}
		if !o.WithoutIDs {
			call["id"] = cmp.Or(c.ID, rand.Text()) // the server gives each one
		}
		calls = append(calls, call)
	}
	piece := func(text string, done bool, calls ...any) any {
		message := object{"role": "assistant", "content": text}
		if reply.Thought != "" {
			message["thinking"] = "hm"
		}
		if calls != nil {
			message["tool_calls"] = calls
		}
		piece := object{"model": "scripted", "created_at": "2026-01-01T00:00:00Z", "message": message, "done": done}
		if done {
			piece["done_reason"] = "stop"
		}
		return piece
	}
	if !req.Stream {
		writeJSON(w, http.StatusOK, piece(reply.Text, true, calls...))
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	lines := json.NewEncoder(w)
	for text := range strings.SplitAfterSeq(reply.Text, "o") {
		_ = lines.Encode(piece(text, false)) // who is gone is gone
	}
	for _, call := range calls {
		_ = lines.Encode(piece("", false, call))
	}
	_ = lines.Encode(piece("", true))
}

// Refuse answers with the server's form of an error.
func (Ollama) Refuse(w http.ResponseWriter, reason string) {
	writeJSON(w, http.StatusBadRequest, object{"error": reason})
}
