package adaptertest

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/providercheck"
)

// Bedrock is the Converse API of Amazon Bedrock, and ConverseStream, as far as
// conversations with tools need it. Its rules are those of the API's reference and of the
// errors that people met in 2025 and 2026. The signature of a request is not checked.
type Bedrock struct{}

var bedrockPath = regexp.MustCompile(`^/model/([^/]+)/converse(-stream)?$`)

// Read reads a request.
func (Bedrock) Read(r *http.Request, body []byte) (*Request, error) {
	path := bedrockPath.FindStringSubmatch(r.URL.Path)
	c, err := begin(r, path != nil && strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 "), body, "bedrockRequest")
	if err != nil {
		return nil, err
	}
	c.Stream = path[2] != ""
	b := &bedrockReader{c, strings.Contains(path[1], "claude") || strings.Contains(path[1], "nova"), map[string]bool{}}
	config := c.body.Get("toolConfig")
	for _, t := range config.Get("tools").List() {
		spec := t.Get("toolSpec")
		if err := c.declare(t, spec, spec.Get("inputSchema").Get("json"), providercheck.Bedrock); err != nil {
			return nil, err
		}
	}
	err = errors.Join(c.each("messages", b.message), c.answered())
	switch {
	case err != nil:
	case len(c.body.Get("messages").Items)%2 == 0:
		err = errors.New("a conversation must end with a user message")
	case len(c.ids) > 0 && config == nil:
		err = errors.New("the toolConfig field must be defined when using toolUse and toolResult content blocks")
	}
	return c.Request, err
}

// A bedrockReader reads one conversation.
type bedrockReader struct {
	*conversation
	native bool            // the model takes images and status in results, and more beside them
	labels map[string]bool // names of documents
}

func (b *bedrockReader) message(i int, m *providercheck.Node) error {
	if m.Get("role").Says("user") != (i%2 == 0) {
		return errors.New("roles must alternate, and a user begins")
	}
	called, blocks := b.open, m.Get("content")
	text, media, err := content(having(blocks, "text", "image", "document"), bedrockMedia)
	b.Media = append(b.Media, media...)
	images := len(having(blocks, "image").Items)
	results := having(blocks, "toolResult").Items
	for _, block := range results {
		n, bad := b.result(block.Get("toolResult"))
		images, err = images+n, errors.Join(err, bad)
	}
	documents := having(blocks, "document").Items
	for _, block := range documents {
		name := block.Get("document").Str("name")
		if b.labels[name] {
			return fmt.Errorf("messages contain the document name %q twice", name)
		}
		b.labels[name] = true
	}
	switch err = errors.Join(err, b.answered()); {
	case err != nil:
		return err
	case !b.native && len(called) > 0 && len(results) != len(blocks.Items):
		return errors.New("conversation blocks and tool result blocks cannot be provided in the same turn")
	case images > 20 || len(documents) > 5:
		return errors.New("too many images or documents")
	case len(documents) > 0 && text == "":
		return errors.New("a document needs a text block beside it")
	}
	for at, block := range having(blocks, "reasoningContent").Items {
		if thought := block.Get("reasoningContent").Get("reasoningText"); thought != nil && thought.Str("signature") == "" || at == len(blocks.Items)-1 {
			return errors.New("the final block in an assistant message cannot be `thinking`, and each needs its signature")
		}
	}
	if i%2 == 0 && len(blocks.Items) == 1 && text != "" {
		b.Users = append(b.Users, text)
	}
	for _, block := range having(blocks, "toolUse").Items {
		use := block.Get("toolUse")
		err = errors.Join(err, b.call(use.Str("toolUseId"), use.Str("name")))
	}
	return err
}

func bedrockMedia(block *providercheck.Node) (kind, data string) {
	if m := block.Get("document"); m != nil {
		return "application/" + m.Str("format"), m.Get("source").Str("bytes")
	}
	m := block.Get("image")
	return "image/" + m.Str("format"), m.Get("source").Str("bytes")
}

// result reads the result of the next call, and returns how many images it has.
func (b *bedrockReader) result(r *providercheck.Node) (images int, err error) {
	parts := slices.Clone(r.Get("content").Items)
	for i, part := range parts {
		if value := part.Get("json"); value != nil {
			parts[i] = &providercheck.Node{Kind: '{', Members: map[string]*providercheck.Node{"text": {Kind: '"', Text: value.Write()}}}
		}
	}
	text, media, err := content(&providercheck.Node{Kind: '[', Items: parts}, bedrockMedia)
	if !b.native && (r.Get("status") != nil || len(media) > 0) {
		return 0, errors.New("this model doesn't support the status of a toolResult, or the image field")
	}
	failed := r.Get("status").Says("error")
	return len(media), errors.Join(err, b.conversation.result(Result{CallID: r.Str("toolUseId"), Text: text, Media: media, Failed: failed}, true))
}

// Write answers a request, as a stream of events if it asks for one.
func (Bedrock) Write(w http.ResponseWriter, req *Request, reply Reply) {
	if req.Stream {
		w.Header().Set("Content-Type", "application/vnd.amazon.eventstream")
		for _, e := range bedrockEvents(reply) {
			_, _ = w.Write(e) // who is gone is gone
		}
		return
	}
	content := []any{}
	for _, thought := range bedrockThoughts(reply, "whole", "redacted") {
		content = append(content, object{"reasoningContent": thought})
	}
	if reply.Text != "" {
		content = append(content, object{"text": reply.Text})
	}
	for _, thought := range bedrockThoughts(reply, "cut") {
		content = append(content, object{"reasoningContent": thought})
	}
	for _, c := range reply.Calls {
		content = append(content, object{"toolUse": object{"toolUseId": c.ID, "name": c.Name, "input": c.Arguments}})
	}
	writeJSON(w, http.StatusOK, object{
		"output":     object{"message": object{"role": "assistant", "content": content}},
		"stopReason": bedrockStop(reply),
		"usage":      object{"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
		"metrics":    object{"latencyMs": 1},
	})
}

// Refuse answers a request that is refused.
func (Bedrock) Refuse(w http.ResponseWriter, reason string) {
	w.Header().Set("X-Amzn-Errortype", "ValidationException")
	writeJSON(w, http.StatusBadRequest, object{"message": reason})
}

// bedrockThoughts returns what a model thought, if it is one of the kinds.
func bedrockThoughts(reply Reply, kinds ...string) []object {
	text := object{"text": "hm"}
	switch {
	case !slices.Contains(kinds, reply.Thought):
		return nil
	case reply.Thought == "redacted":
		return []object{{"redactedContent": "c2VjcmV0"}}
	case reply.Thought == "whole":
		text["signature"] = "signed"
	}
	return []object{{"reasoningText": text}}
}

func bedrockStop(reply Reply) string {
	if reply.Thought == "cut" {
		return "max_tokens"
	}
	if len(reply.Calls) > 0 {
		return "tool_use"
	}
	return "end_turn"
}

// bedrockEvents returns a reply as the service streams it: the arguments of calls in two
// parts.
func bedrockEvents(reply Reply) [][]byte {
	events := [][]byte{bedrockEvent("messageStart", object{"role": "assistant"})}
	place := 0
	stop := func() {
		events = append(events, bedrockEvent("contentBlockStop", object{"contentBlockIndex": place}))
		place++
	}
	delta := func(v object) {
		events = append(events, bedrockEvent("contentBlockDelta", object{"contentBlockIndex": place, "delta": v}))
	}
	think := func(kinds ...string) {
		for _, thought := range bedrockThoughts(reply, kinds...) {
			if text, ok := thought["reasoningText"].(object); ok {
				thought = text
			}
			for name, value := range thought {
				delta(object{"reasoningContent": object{name: value}})
			}
			stop()
		}
	}
	think("whole", "redacted")
	if reply.Text != "" {
		delta(object{"text": reply.Text})
		stop()
	}
	think("cut")
	for _, c := range reply.Calls {
		start := object{"toolUse": object{"toolUseId": c.ID, "name": c.Name}}
		events = append(events, bedrockEvent("contentBlockStart", object{"contentBlockIndex": place, "start": start}))
		for _, part := range halves(string(c.Arguments)) {
			delta(object{"toolUse": object{"input": part}})
		}
		stop()
	}
	return append(events,
		bedrockEvent("messageStop", object{"stopReason": bedrockStop(reply)}),
		bedrockEvent("metadata", object{
			"usage":   object{"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
			"metrics": object{"latencyMs": 1},
		}))
}

// bedrockEvent returns a message of an event stream: the lengths of all and of the
// headers, headers, payload, and checksums of the lengths and of all.
func bedrockEvent(kind string, v object) []byte {
	payload, _ := json.Marshal(v) // of the kit's own
	var headers []byte
	for _, h := range [][2]string{{":message-type", "event"}, {":event-type", kind}, {":content-type", "application/json"}} {
		headers = append(headers, byte(len(h[0])))
		headers = append(headers, h[0]...)
		headers = append(headers, 7) // a string
		headers = binary.BigEndian.AppendUint16(headers, uint16(len(h[1])))
		headers = append(headers, h[1]...)
	}
	all := binary.BigEndian.AppendUint32(nil, uint32(16+len(headers)+len(payload)))
	all = binary.BigEndian.AppendUint32(all, uint32(len(headers)))
	all = binary.BigEndian.AppendUint32(all, crc32.ChecksumIEEE(all))
	all = append(append(all, headers...), payload...)
	return binary.BigEndian.AppendUint32(all, crc32.ChecksumIEEE(all))
}
