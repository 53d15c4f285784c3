package access_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/access"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// The keys of one user are kept in a file.
func ExampleOpenKeys() {
	dir, err := os.MkdirTemp("", "keys")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	keys, err := access.OpenKeys(ctx, filepath.Join(dir, "keys.json"))
	if err != nil {
		fmt.Println(err)
		return
	}
	_, key, err := keys.Create(ctx, access.KeyOptions{Label: "laptop"})
	fmt.Println(key.Label, err)
	// Output: laptop <nil>
}

// A key of a file is good after a restart, and a file that others may write to has none.
func TestKeysInFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sub", "keys.json")
	secret, key, err := assert.Value(access.OpenKeys(t.Context(), path))(t).Create(t.Context(), access.KeyOptions{Label: "a"})
	assert.OK(t, err)
	again := assert.Value(access.OpenKeys(t.Context(), path))(t)
	r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
	r.Header.Set("Authorization", "Bearer "+secret)
	assert.Equal(t, assert.Value(again.Authenticate(r))(t).Credential, key.ID, "the credential")
	if runtime.GOOS == "windows" {
		return
	}
	assert.OK(t, os.Chmod(path, 0o666))
	assert.Fails(t, assert.Err(access.OpenKeys(t.Context(), path)), "a file that others may write to")
}
