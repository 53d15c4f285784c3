package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"encoding/json"
	"hash/maphash"
	"strconv"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/paramheader"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/session"
)

// A catalogueKey says whose list of tools it is. The user is empty for a list that is the same for
// all.
type catalogueKey struct {
	user string
	room int  // bytes of a name
	late bool // with await_call
}

// A catalogue is the list of tools of a view, as it is sent.
type catalogue struct {
	version uint64 // of the registry's snapshot
	shared  bool   // no policy hides a tool from its user
	hash    uint64
	tools   []json.RawMessage
	result  json.RawMessage                 // {"tools":[...]}, if it is one page
	names   map[string]string               // of the registry, by those of the view that are others
	headers map[string][]paramheader.Header // of the tools that have any, by their names in the view
}

// maxCatalogues bounds the lists that a view keeps: users may have lists of their own.
const maxCatalogues = 256

// catalogue returns the list of tools for a client.
func (v *view) catalogue(ctx context.Context, p *peer) *catalogue {
	r := v.gateway.host.Registry()
	version := r.Snapshot().Version()
	key := catalogueKey{room: p.room(), late: p.answerWithin() > 0}
	user, _ := session.UserOf(ctx)
	v.mu.Lock()
	c := v.catalogues[key]
	if c == nil || !c.shared {
		key.user = user
		c = v.catalogues[key]
	}
	v.mu.Unlock()
	if c != nil && c.version == version {
		return c
	}
	c = v.build(ctx, key, version)
	v.mu.Lock()
	defer v.mu.Unlock()
	if c.shared {
		key.user = ""
	}
	if v.catalogues == nil || len(v.catalogues) >= maxCatalogues {
		v.catalogues = map[catalogueKey]*catalogue{}
	}
	v.catalogues[key] = c
	return c
}

func (v *view) build(ctx context.Context, key catalogueKey, version uint64) *catalogue {
	r := v.gateway.host.Registry()
	all := r.Callable(ctx)
	c := &catalogue{version: version, shared: len(all) == len(r.Snapshot().Tools()), names: map[string]string{}, headers: map[string][]paramheader.Header{}}
	size := len(`{"tools":[]}`)
	var hash maphash.Hash
	hash.SetSeed(v.gateway.seed)
	for _, t := range all {
		d := t.Definition()
		if !v.hasTool(d) {
			continue
		}
		name := v.toolName(d, key.room)
		if name != d.Name {
			c.names[name] = d.Name
		}
		if headers, _ := paramheader.Find(d.InputSchema); headers != nil {
			c.headers[name] = headers
		}
		item := toolJSON(d, name)
		c.tools = append(c.tools, item)
		size += len(item) + 1
		hash.Write(item)
	}
	if key.late {
		c.tools = append(c.tools, json.RawMessage(awaitTool))
		size += len(awaitTool) + 1
	}
	c.hash = hash.Sum64()
	if size <= v.gateway.opts.PageBytes {
		c.result = joinList("tools", c.tools, "", size)
	}
	return c
}

// joinList returns the result of a list.
func joinList(member string, items []json.RawMessage, next string, size int) json.RawMessage {
	out := make([]byte, 0, size+64)
	out = append(append(append(out, `{"`...), member...), `":[`...)
	for i, item := range items {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, item...)
	}
	out = append(out, ']')
	if next != "" {
		out = append(append(append(out, `,"nextCursor":"`...), next...), '"')
	}
	return append(out, '}')
}

// toolName is what the view calls a tool: what its server does in the view of the server, and
// else what the registry or the profile does, cut to the room that the client leaves.
func (v *view) toolName(d *registry.Definition, room int) string {
	if v.server != "" {
		return d.Origin.Tool
	}
	name := d.Name
	if other := v.profile.Names[name]; other != "" {
		name = other
	}
	return cutName(name, room)
}

// cutName cuts a name that is too long. What is cut ends in a hash of it, so that the same
// tool has the same name always, and no two have one.
func cutName(name string, room int) string {
	const hashed = 10
	room = max(room, 24)
	if len(name) <= room {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	hash := strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:hashed]
	return strings.TrimRight(name[:room-hashed-1], "_-") + "_" + hash
}

// registryName returns what the registry calls the tool that a client calls by name. The registry itself knows
// what to say of a name that is not in the list: that of a tool in quarantine, or of a server that is
// not ready.
func (v *view) registryName(ctx context.Context, p *peer, name string) (string, error) {
	c := v.catalogue(ctx, p)
	if known, ok := c.names[name]; ok {
		return known, nil
	}
	r := v.gateway.host.Registry()
	if v.server != "" {
		// Of a tool whose name in the registry is the server's own, or that is held back.
		for _, q := range r.Snapshot().Quarantined() {
			if o := q.Tool.Origin; o.Server == v.server && o.Tool == name {
				return q.Tool.Name, nil
			}
		}
		full, _ := r.Names().Name(v.server, name)
		if t, ok := r.Snapshot().Lookup(full); ok && (t.Definition().Origin.Server != v.server || t.Definition().Origin.Tool != name) {
			return "", &registry.UnknownToolError{Name: name}
		}
		return full, nil
	}
	if d, ok := r.Resolve(name); ok && !v.hasTool(d) {
		return "", &registry.UnknownToolError{Name: name}
	}
	if len(v.servers)+len(v.tools) > 0 || v.profile.ReadOnly { // a tool in quarantine
		for _, q := range r.Snapshot().Quarantined() {
			if q.Tool.Name == name && !v.hasTool(q.Tool) {
				return "", &registry.UnknownToolError{Name: name}
			}
		}
	}
	return name, nil
}

// toolJSON returns a tool as it is listed: as its server sent it, with another name where that
// is needed, if nothing of it was changed here.
func toolJSON(d *registry.Definition, name string) json.RawMessage {
	if d.Raw != nil {
		if name == d.Origin.Tool {
			return d.Raw
		}
		return withMember(d.Raw, "name", quoted(name))
	}
	return marshal(struct {
		Name         string          `json:"name"`
		Title        string          `json:"title,omitempty"`
		Description  string          `json:"description,omitempty"`
		InputSchema  json.RawMessage `json:"inputSchema"`
		OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
		Annotations  any             `json:"annotations,omitempty"`
	}{name, d.Title, d.Description, d.InputSchema, d.OutputSchema, annotationsOf(d)})
}

func annotationsOf(d *registry.Definition) any {
	switch {
	case d.RawAnnotations != nil:
		return d.RawAnnotations
	case d.Annotations != nil:
		return d.Annotations
	}
	return nil
}

// withMember returns the object with one member of another value. All else keeps its bytes.
func withMember(object json.RawMessage, key string, value []byte) json.RawMessage {
	walk := jsonscan.Walk(object)
	for k := range walk.Members() {
		if string(k) != key {
			continue
		}
		from := walk.Pos()
		walk.Skip()
		to := from + len(walk.From(from))
		out := make([]byte, 0, len(object)+len(value))
		out = append(append(out, object[:from]...), value...)
		return append(out, object[to:]...)
	}
	return addMember(object, key, value)
}

// addMember returns the object with one member more, which comes first.
func addMember(object json.RawMessage, key string, value []byte) json.RawMessage {
	open := strings.IndexByte(string(object[:min(len(object), 64)]), '{')
	rest := object[open+1:]
	out := make([]byte, 0, len(object)+len(key)+len(value)+4)
	out = append(append(append(append(out, `{"`...), key...), `":`...), value...)
	for _, c := range rest {
		if c == ' ' || c == '\t' || c == '\n' || c == '\r' {
			continue
		}
		if c != '}' {
			out = append(out, ',')
		}
		break
	}
	return append(out, rest...)
}

// quoted returns a text as JSON.
func quoted(s string) []byte { return marshal(s) }

// marshal encodes what always encodes, without the escapes that are for HTML pages.
func marshal(v any) json.RawMessage {
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return json.RawMessage("null")
	}
	return json.RawMessage(strings.TrimSuffix(out.String(), "\n"))
}

// listTools answers tools/list.
func (v *view) listTools(ctx context.Context, p *peer, cursor string) (json.RawMessage, *mcp.JSONRPCError) {
	c := v.catalogue(ctx, p)
	if cursor == "" && c.result != nil {
		return c.result, nil
	}
	return page("tools", c.tools, c.hash, cursor, v.gateway.opts.PageBytes)
}

// page returns the page of a list that begins at the cursor. A cursor is bound to the list that it
// was made for: of another one it would leave out items, or repeat them.
func page(member string, items []json.RawMessage, hash uint64, cursor string, room int) (json.RawMessage, *mcp.JSONRPCError) {
	from := 0
	if cursor != "" {
		text, err := base64.RawURLEncoding.DecodeString(cursor)
		of, place, ok := strings.Cut(string(text), ".")
		n, numErr := strconv.Atoi(place)
		switch {
		case err != nil || !ok || numErr != nil || n < 0:
			return nil, invalidParams("the cursor is not one of this list")
		case of != strconv.FormatUint(hash, 36) || n >= len(items):
			return nil, invalidParams("the list has changed since the cursor was made: begin anew, without a cursor")
		}
		from = n
	}
	size, to := len(member)+8, from
	for to < len(items) && (to == from || size+len(items[to]) < room) {
		size += len(items[to]) + 1
		to++
	}
	next := ""
	if to < len(items) {
		next = base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatUint(hash, 36) + "." + strconv.Itoa(to)))
	}
	return joinList(member, items[from:to], next, size), nil
}

// hashOf identifies a list within this process.
func (g *Gateway) hashOf(items []json.RawMessage) uint64 {
	var hash maphash.Hash
	hash.SetSeed(g.seed)
	for _, item := range items {
		hash.Write(item)
	}
	return hash.Sum64()
}
