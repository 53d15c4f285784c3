package filestore

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// roleVar tells a process that the tests started what it is for.
const roleVar = "MCPBELT_FILESTORE_ROLE"

func init() { lookEvery = time.Millisecond }

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVar); role != "" {
		if err := play(role, os.Getenv("MCPBELT_FILESTORE_DIR")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func play(role, dir string) error {
	f, err := openFolder(dir, nil)
	if err != nil {
		return err
	}
	defer f.Close()
	switch role {
	case "write":
		return writeOn(f)
	case "count":
		return countUnderLock(f)
	case "hold":
		return holdLock(f)
	case "full":
		return writeTooMuch(f)
	}
	return fmt.Errorf("no role %q", role)
}
