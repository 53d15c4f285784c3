package config

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// TestWritten: values are as they stand in the file, whatever references stand for.
func TestWritten(t *testing.T) {
	dir := t.TempDir()
	assert.OK(t, os.WriteFile(filepath.Join(dir, "vars"), []byte("A=${FILE}\nB=file"), 0o600))
	const text = `{"mcpServers":{
		"local":{"command":"x","envFile":"vars","env":{"B":"${V}","C":"c","D":"x${V:-d}"}},
		"remote":{"url":"https://a.example","headers":{"H":"Bearer ${env:V}","I":"i"},"auth":{"clientId":"a","clientSecret":"${V}"}}}}`
	c := assert.Value(Parse(t.Context(), filepath.Join(dir, "mcp.json"), []byte(text), &Options{Lookup: func(name string) (string, bool) { return "value", name == "V" }}))(t)
	for i, want := range []string{
		"map[A:${FILE} B:${V} C:c D:x${V:-d}] map[] ",
		"map[] map[H:Bearer ${env:V} I:i] ${V}",
	} {
		env, headers, clientSecret := c.Servers[i].Written()
		assert.Equal(t, fmt.Sprint(plainly(env), plainly(headers), " ", clientSecret.Reveal()), want, "server %d", i)
	}
	made := &Server{Env: map[string]Secret{"A": "1"}}
	if env, _, _ := made.Written(); env["A"].Reveal() != "1" {
		t.Errorf("made by hand: got %q, want %q", env["A"].Reveal(), "1")
	}
}

func plainly(values map[string]Secret) map[string]string {
	plain := map[string]string{}
	for name, value := range values {
		plain[name] = value.Reveal()
	}
	return plain
}
