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
	keys, err := access.OpenKeys(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	secret, key, err := keys.Create(t.Context(), access.KeyOptions{Label: "a"})
	if err != nil {
		t.Fatal(err)
	}
	again, err := access.OpenKeys(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
	r.Header.Set("Authorization", "Bearer "+secret)
	caller, err := again.Authenticate(r)
	if err != nil {
		t.Fatal(err)
	}
	if caller.Credential != key.ID {
		t.Errorf("got the credential %s, want %s", caller.Credential, key.ID)
	}
	if runtime.GOOS == "windows" {
		return
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := access.OpenKeys(t.Context(), path); err == nil {
		t.Error("a file that others may write to: got no error, want one")
	}
}
