package adaptertest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/providercheck"
)

// Gemini is the wire of generateContent and streamGenerateContent, of the Gemini API
// and of Vertex AI.
type Gemini struct {
	// Before3 is a model before Gemini 3: its calls have no ids and no signatures, and
	// it takes no media within the response of a function.
	Before3 bool
	// Older says that the runtime writes the older of two forms of schemas, with types in
	// capitals or as numbers, and of results, which may have any name and a role of their own.
	Older bool
}

var (
	geminiType   = regexp.MustCompile(`"type":("[A-Z]+"|[1-6])`)
	geminiResult = regexp.MustCompile(`"response":\{"(result|response)":`)
)

// newer returns a request of the older form in the newer one.
func newer(body []byte) []byte {
	var out bytes.Buffer
	if json.Compact(&out, body) != nil {
		return body
	}
	body = geminiType.ReplaceAllFunc(out.Bytes(), func(member []byte) []byte {
		if n := member[len(member)-1] - '1'; n < 6 {
			return []byte(`"type":"` + []string{"string", "number", "integer", "boolean", "array", "object"}[n] + `"`)
		}
		return bytes.ToLower(member)
	})
	body = geminiResult.ReplaceAll(body, []byte(`"response":{"output":`))
	body = bytes.ReplaceAll(body, []byte(`"role":"tool"`), []byte(`"role":"user"`))
	return bytes.ReplaceAll(body, []byte(`"parameters":`), []byte(`"parametersJsonSchema":`))
}

// Read refuses what the API would answer with status 400.
func (g Gemini) Read(r *http.Request, body []byte) (*Request, error) {
	stream := strings.HasSuffix(r.URL.Path, ":streamGenerateContent") && r.URL.Query().Get("alt") == "sse"
	if g.Older {
		body = newer(body)
	}
	c, err := begin(r, stream || strings.HasSuffix(r.URL.Path, ":generateContent"), body, "geminiRequest")
	if err != nil {
		return nil, err
	}
	c.Stream = stream
	err = errors.Join(c.each("tools", func(_ int, t *providercheck.Node) error {
		var err error
		for _, f := range t.Get("functionDeclarations").Items {
			err = errors.Join(err, c.declare(f, f, f.Get("parametersJsonSchema"), providercheck.Gemini))
		}
		return err
	}), c.each("contents", func(_ int, content *providercheck.Node) error { return g.content(c, content) }))
	if err == nil && len(c.open) > 0 {
		err = errors.New("please ensure that each function call has a response")
	}
	return c.Request, err
}

// content reads one content. The one behind calls has a response to each of them, in their
// order, and nothing else.
func (g Gemini) content(c *conversation, n *providercheck.Node) error {
	parts, called := n.Get("parts"), c.open
	for _, r := range having(parts, "functionResponse").Items {
		if err := g.response(c, r.Get("functionResponse")); err != nil {
			return err
		}
	}
	if len(c.open) > 0 || len(called) > 0 && len(parts.Items) != len(called) {
		return fmt.Errorf("please ensure that the number of function response parts is equal to the number of function call parts of the function call turn: %v", called)
	}
	for i, p := range having(parts, "functionCall").Items {
		if err := g.call(c, p, i == 0); err != nil {
			return err
		}
	}
	text, media, err := content(having(parts, "text", "inlineData"), geminiMedia)
	if n.Get("role").Says("user") && len(called) == 0 {
		c.said(text, media)
	}
	return err
}

func geminiMedia(p *providercheck.Node) (kind, data string) {
	return p.Get("inlineData").Str("mimeType"), p.Get("inlineData").Str("data")
}

// call refuses a call that has not what it came with.
func (g Gemini) call(c *conversation, p *providercheck.Node, first bool) error {
	id, signature := p.Get("functionCall").Str("id"), p.Str("thoughtSignature")
	want := ""
	if first && !g.Before3 {
		want = geminiSignature(id)
	}
	if g.Before3 && id != "" || signature != want {
		return fmt.Errorf("function call is missing a thought_signature in functionCall parts, or has that or the id of another model: %s", p.Write())
	}
	delete(c.ids, id) // it need not be unique
	return c.call(id, p.Get("functionCall").Str("name"))
}

func geminiSignature(id string) string {
	return base64.StdEncoding.EncodeToString([]byte("signature of " + id))
}

func (g Gemini) response(c *conversation, r *providercheck.Node) error {
	if g.Before3 && r.Get("parts") != nil {
		return errors.New("multimodal function responses are not supported by this model")
	}
	_, media, err := content(r.Get("parts"), geminiMedia)
	answer := r.Get("response")
	failed := answer.Get("error") != nil
	return errors.Join(err, c.result(Result{CallID: r.Str("id"), Name: r.Str("name"), Text: answer.Str("output") + answer.Str("error"), Media: media, Failed: failed}, true))
}

// Write answers as the API does. In a stream each call is a chunk of its own, and the
// last one has an empty text.
func (g Gemini) Write(w http.ResponseWriter, req *Request, reply Reply) {
	var parts []any
	if reply.Thought != "" {
		parts = append(parts, object{"text": "hm", "thought": true}, object{"text": "", "thoughtSignature": geminiSignature("thought")})
	}
	for text := range strings.SplitAfterSeq(reply.Text, " ") {
		if text != "" {
			parts = append(parts, object{"text": text})
		}
	}
	version := "gemini-3.5-scripted"
	for i, c := range reply.Calls {
		call := object{"name": c.Name, "args": c.Arguments, "id": c.ID}
		p := object{"functionCall": call}
		if g.Before3 {
			version = "gemini-2.5-scripted"
			delete(call, "id")
		} else if i == 0 {
			p["thoughtSignature"] = geminiSignature(c.ID)
		}
		parts = append(parts, p)
	}
	answer := func(reason string, parts ...any) any {
		candidate := object{"content": object{"role": "model", "parts": parts}, "index": 0}
		if reason != "" {
			candidate["finishReason"] = reason
		}
		return object{
			"candidates": []any{candidate}, "modelVersion": version, "responseId": "1",
			"usageMetadata": object{"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
		}
	}
	if !req.Stream {
		writeJSON(w, http.StatusOK, answer("STOP", parts...))
		return
	}
	write := events(w)
	for _, p := range parts {
		write("", answer("", p))
	}
	write("", answer("STOP", object{"text": ""}))
}

// Refuse answers with the API's form of an error.
func (Gemini) Refuse(w http.ResponseWriter, reason string) {
	writeJSON(w, http.StatusBadRequest, object{"error": object{"code": 400, "message": reason, "status": "INVALID_ARGUMENT"}})
}
