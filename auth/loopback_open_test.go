package auth_test

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// The system's program for opening pages gets the URL as one argument, and gets
// none that is no page.
func TestLoopbackOpens(t *testing.T) {
	name := map[string]string{"linux": "xdg-open", "freebsd": "xdg-open", "darwin": "open"}[runtime.GOOS]
	if name == "" {
		t.Skip("no scripts here")
	}
	folder := t.TempDir()
	script := "#!/bin/sh\nprintf '%s\\n' \"$#\" \"$@\" > '" + folder + "/args'\n"
	assert.OK(t, os.WriteFile(filepath.Join(folder, name), []byte(script), 0o755))
	t.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
	for _, test := range []struct {
		page   string
		opened bool
	}{
		{"https://as.example/authorize?a=$(touch${IFS}hit)&b=`hit`;hit|hit&state=" + state, true},
		{"https://as.example/--version?'\"&state=" + state, true},
		{"file:///etc/passwd", false},
		{"javascript:alert(1)", false},
		{"--version", false},
		{"https://as.example/ --version", false},
		{"https://ann@as.example/", false},
		{"https://as.example/\n", false},
	} {
		p := assert.Value((&auth.Loopback{Out: io.Discard}).Start(t.Context(), nil))(t)
		login := pending(p.RedirectURI())
		login.URL, login.Device = test.page, &auth.Device{UserCode: "1"} // so that nobody is waited for
		assert.Value(p.Show(t.Context(), login))(t)
		_ = p.Close()
		args, _ := os.ReadFile(filepath.Join(folder, "args"))
		want := ""
		if test.opened {
			want = "1\n" + test.page + "\n"
		}
		assert.Equal(t, string(args), want, "%s: the program", test.page)
		_ = os.Remove(filepath.Join(folder, "args"))
	}
}
