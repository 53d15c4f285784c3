package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/jsonc"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

func compiledSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc := assert.Value(jsonschema.UnmarshalJSON(bytes.NewReader(Schema())))(t)
	c := jsonschema.NewCompiler()
	assert.OK(t, c.AddResource("mcpbelt.json", doc))
	return assert.Value(c.Compile("mcpbelt.json"))(t)
}

func validates(t *testing.T, s *jsonschema.Schema, data []byte) error {
	t.Helper()
	return s.Validate(assert.Value(jsonschema.UnmarshalJSON(bytes.NewReader(assert.Value(jsonc.Parse(data))(t).Root.JSON())))(t))
}

// Files that real programs read are valid, and each of their keys is in the schema or
// is one of others.
func TestSchemaAcceptsRealFiles(t *testing.T) {
	s := compiledSchema(t)
	for _, name := range []string{
		"claude_code.mcp.json", "claude_desktop_config.json", "cline_mcp_settings.json", "cursor.mcp.json",
		"gemini_settings.json", "windsurf_mcp_config.json", "mcpbelt.jsonc", "mcpServers/.copilot/mcp-config.json", "../edit/testdata/edit/own.want", "../edit/testdata/edit/new.want",
	} {
		assert.OK(t, validates(t, s, assert.Value(os.ReadFile(filepath.Join("testdata", filepath.FromSlash(name))))(t)), "%s", name)
	}
}

// What the schema says is wrong, the reader says too.
func TestSchemaRefuses(t *testing.T) {
	s := compiledSchema(t)
	for _, entry := range []string{
		`1`, `{}`, `{"command": ""}`, `{"command": 1}`, `{"command": "x", "url": "https://a.example"}`, `{"url": ""}`,
		`{"command": "x", "args": "y"}`, `{"command": "x", "args": [1]}`, `{"command": "x", "env": {"A": 1}}`,
		`{"command": "x", "env": {"A=B": "1"}}`, `{"url": "https://a.example", "headers": {"A B": "1"}}`,
		`{"url": "https://a.example", "transport": "pigeon"}`, `{"command": "x", "enabled": "yes"}`,
		`{"command": "x", "connectTimeoutSeconds": -1}`, `{"command": "x", "readTimeoutSeconds": "5"}`,
		`{"command": "x", "idleTimeoutSeconds": 99999999}`, `{"command": "x", "trust": 1}`, `{"command": "x", "lazy": 1}`,
		`{"command": "x", "required": 1}`, `{"command": "x", "builtin": 1}`, `{"command": "x", "description": 1}`,
		`{"command": "x", "tools": {"denny": []}}`, `{"command": "x", "tools": [1]}`, `{"url": "https://a.example", "auth": "basic"}`, `{"command": "x", "tools": {"allow": "a"}}`, `{"command": "x", "tools": {"rename": {"a": "b c"}}}`,
		`{"command": "x", "includeTools": "a"}`, `{"command": "x", "disabledTools": [1]}`,
		`{"url": "https://a.example", "auth": 1}`, `{"url": "https://a.example", "auth": {"scopes": ["a b"]}}`,
		`{"url": "https://a.example", "auth": {"clientId": 1}}`, `{"url": "https://a.example", "identity": "mine"}`,
		`{"url": "https://a.example", "identity": "header", "userHeader": "a b"}`,
		`{"command": "x", "isolation": {}}`, `{"command": "x", "isolation": {"kind": "jail"}}`, `{"command": "x", "isolation": {"kind": "docker"}}`,
		`{"command": "x", "isolation": {"kind": "none", "image": "a"}}`, `{"command": "x", "isolation": {"kind": "landlock", "paths": []}}`,
		`{"command": "x", "isolation": {"kind": "landlock", "mounts": [{}]}}`, `{"command": "x", "isolation": {"kind": "landlock", "mounts": [""]}}`,
		`{"command": "x", "limits": {"maxTool": 1}}`, `{"command": "x", "limits": {"maxTools": 1.5}}`, `{"command": "x", "limits": {"maxQueued": -2}}`,
	} {
		data := []byte(`{"mcpServers": {"a": ` + entry + `}}`)
		assert.Fails(t, validates(t, s, data), "the schema accepts %s", entry)
		c, err := Parse(t.Context(), "f.json", data, nil)
		assert.OK(t, err, "the reader accepts %s", entry)
		assert.Equal(t, len(c.Servers), 1, "the reader accepts %s", entry)
		assert.Fails(t, c.Servers[0].Err, "the reader accepts %s", entry)
	}
}

// schemaProperties returns the keys of the object at a path in the schema, and fails
// for one that has no description.
func schemaProperties(t *testing.T, path ...string) []string {
	t.Helper()
	var node map[string]json.RawMessage
	raw := json.RawMessage(Schema())
	for _, key := range append(path, "properties") {
		assert.OK(t, json.Unmarshal(raw, &node))
		raw, node = node[key], nil
	}
	var properties map[string]struct{ Description string }
	assert.OK(t, json.Unmarshal(raw, &properties))
	for key, p := range properties {
		assert.True(t, p.Description != "", "%s has a description", key)
	}
	return slices.Sorted(maps.Keys(properties))
}

// The schema has the keys that the reader knows, and no others.
func TestSchemaKeys(t *testing.T) {
	server := []string{"$defs", "server"}
	var known []string
	for _, key := range entryKeys() {
		if !strings.HasPrefix(key, "(") {
			known = append(known, key)
		}
	}
	slices.Sort(known)
	assert.Equal(t, fmt.Sprintf("%q", schemaProperties(t, server...)), fmt.Sprintf("%q", known))
	for _, key := range dialect.OwnKeys() {
		assert.True(t, slices.Contains(known, key), "%s is known", key)
	}
	for section, known := range map[string][]string{
		"auth": {"askConsent", "authMethod", "authorizationUrl", "clientId", "clientSecret", "deviceUrl", "grant", "issuer", "loginParams", "noResource", "off", "redirectUrl", "registrationUrl", "revocationUrl", "scopes", "tokenUrl", "type"}, "tools": {"allow", "deny", "rename", "skipOutputCheck"},
		"tls":       {"caFile", "certFile", "insecure", "keyFile"},
		"isolation": {"args", "image", "kind", "mounts", "network"}, "limits": {"maxArgumentBytes", "maxInFlight", "maxMessageBytes", "maxQueued", "maxTools"},
	} {
		got := schemaProperties(t, append(slices.Clone(server), "properties", section)...)
		assert.Equal(t, fmt.Sprintf("%q", got), fmt.Sprintf("%q", known), "%s", section)
		for _, key := range got { // the reader has no word to say of a key that it knows, being null
			data := []byte(`{"mcpServers": {"a": {"command": "x", "url": null, "` + section + `": {"` + key + `": null}}}}`)
			c, err := Parse(t.Context(), "f.json", data, nil)
			if err != nil || slices.ContainsFunc(c.Warnings, func(w *Error) bool { return strings.Contains(w.Error(), "unknown key") }) ||
				c.Servers[0].Err != nil && strings.Contains(c.Servers[0].Err.Error(), "unknown key") {
				t.Errorf("%s.%s is not known to the reader: %v", section, key, c.Servers[0].Err)
			}
		}
	}
}
