package filestore_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/mcpbelt/mcpbelt/session/filestore"
	"github.com/mcpbelt/mcpbelt/session/seal"
)

func ExampleOpen() {
	dir, err := os.UserConfigDir()
	if err != nil {
		fmt.Println(err)
		return
	}
	store, err := filestore.Open(context.Background(), filepath.Join(dir, "my-agent", "sessions"), &filestore.Options{
		Keys:   seal.KeyEnv("MY_AGENT_KEY"),
		Logger: slog.Default(),
	})
	var key *seal.KeyError
	var place *filestore.Error
	switch {
	case errors.As(err, &key):
		fmt.Println("set MY_AGENT_KEY:", key.Problem)
	case errors.As(err, &place):
		fmt.Println("cannot use the folder:", place.Err)
	case err != nil:
		fmt.Println(err)
	default:
		defer store.Close()
	}
}
