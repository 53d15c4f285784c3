// Package skilltest answers as a server of skills does, for tests: each answer has the form that the
// specification of io.modelcontextprotocol/skills gives it.
package skilltest

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/mcp"
)

const capabilities = `{"tools":{},"resources":{"listChanged":true},"extensions":{"io.modelcontextprotocol/skills":{"directoryRead":true}}}`

// A Server has files of skills, by URI. It is safe for concurrent use.
type Server struct {
	Old    bool                                       // it speaks revision 2025-11-25
	Change func(method string, result map[string]any) // makes the result of a request another one; nil: it does not

	mu    sync.Mutex
	files map[string]string
	conns []mcp.Conn
}

// New returns a server with files. Each text of a file whose name ends in SKILL.md begins with simple front matter.
func New(files map[string]string) *Server { return &Server{files: maps.Clone(files)} }

// File returns the text of a SKILL.md.
func File(name, description, more string) string {
	return fmt.Sprintf("---\nname: %s\ndescription: %s\n---\n%s", name, description, more)
}

// Set changes a file, or removes it if text is empty, and says so on the connections of an old server.
func (s *Server) Set(uri, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files[uri] = text; text == "" {
		delete(s.files, uri)
	}
	for _, c := range s.conns {
		if s.Old {
			_ = c.Write(context.Background(), &jsonrpc.Request{Method: "notifications/resources/list_changed"})
		}
	}
}

// Entry returns the entry of a skill, or nil if there is none. Of a skill that says "dynamic: yes" no digests are known.
func (s *Server) Entry(uri string) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, ok := s.files[uri]
	if !ok || !strings.HasSuffix(uri, "/SKILL.md") {
		return nil
	}
	front := map[string]any{}
	_, text, _ = strings.Cut(text, "---\n")
	text, _, _ = strings.Cut(text, "\n---")
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		front[key] = value
	}
	files := []any{}
	for _, f := range slices.Sorted(maps.Keys(s.files)) {
		if strings.HasPrefix(f, strings.TrimSuffix(uri, "SKILL.md")) {
			files = append(files, map[string]any{"uri": f, "digest": fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(s.files[f]))), "size": len(s.files[f])})
		}
	}
	entry := map[string]any{"uri": uri, "frontmatter": front, "resources": files}
	if front["dynamic"] != nil {
		entry["resources"] = "dynamic"
	}
	return entry
}

// Answer returns the result of a request, or nil for error -32602.
func (s *Server) Answer(method string, params json.RawMessage) map[string]any {
	var p struct{ URI string }
	_ = json.Unmarshal(params, &p)
	result := map[string]any{"resultType": "complete", "ttlMs": 0, "cacheScope": "public"}
	s.mu.Lock()
	text, isFile := s.files[p.URI]
	uris := slices.Sorted(maps.Keys(s.files))
	s.mu.Unlock()
	switch method {
	case "initialize", "server/discover":
		result["capabilities"], result["serverInfo"] = json.RawMessage(capabilities), map[string]any{"name": "skills", "version": "1"}
		result["protocolVersion"], result["supportedVersions"] = mcp.Revision20251125, []string{mcp.Revision20260728}
	case "skills/list":
		all := []any{}
		for _, uri := range uris {
			if e := s.Entry(uri); e != nil && !strings.Contains(uri, "unlisted") {
				all = append(all, e)
			}
		}
		result["skills"] = all
	case "skills/get":
		if result["skill"] = s.Entry(p.URI); result["skill"].(map[string]any) == nil {
			return nil
		}
	case "resources/read":
		if !isFile {
			return nil
		}
		result["contents"] = []any{map[string]any{"uri": p.URI, "mimeType": "text/markdown", "text": text}}
	case "resources/directory/read":
		all := []any{}
		for _, uri := range uris {
			if rest, ok := strings.CutPrefix(uri, p.URI+"/"); ok && !strings.Contains(rest, "/") {
				all = append(all, map[string]any{"uri": uri, "name": rest})
			}
		}
		result["resources"] = all
	case "tools/list":
		result["tools"] = []any{}
	case "resources/list":
		result["resources"] = []any{}
	}
	return result
}

// Run serves a connection until it or ctx ends, as a server of the official SDK does.
func (s *Server) Run(ctx context.Context, t mcp.Transport) error {
	conn, err := t.Connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	s.mu.Lock()
	s.conns = append(s.conns, conn)
	s.mu.Unlock()
	for {
		m, err := conn.Read(ctx)
		if err != nil {
			return nil
		}
		req, ok := m.(*jsonrpc.Request)
		if !ok || !req.IsCall() {
			continue
		}
		answer := &jsonrpc.Response{ID: req.ID}
		result := s.Answer(req.Method, req.Params)
		if s.Change != nil && result != nil {
			s.Change(req.Method, result)
		}
		switch {
		case req.Method == "subscriptions/listen":
			continue
		case result == nil || req.Method == "server/discover" && s.Old:
			answer.Error = &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "there is none"}
		default:
			answer.Result, _ = json.Marshal(result)
		}
		if conn.Write(ctx, answer) != nil {
			return nil
		}
	}
}
