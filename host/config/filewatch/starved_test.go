package filewatch_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/host/config/filewatch"
)

// starvedFile, in the environment, makes the test program follow a file without being
// able to ask the operating system for notifications.
const starvedFile = "FILEWATCH_STARVED"

func followStarved(path string) {
	var log bytes.Buffer
	opts := &filewatch.Options{
		Quiet: 5 * time.Millisecond, Poll: 10 * time.Millisecond,
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
	}
	files := filewatch.Files([]string{path}, opts)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if !starve() {
		fmt.Println("not starved")
		return
	}
	n := 0
	for range files(ctx) {
		n++
		if n == 3 {
			break
		}
		feed() // for the writing; the watch has no descriptors of its own
		if err := os.WriteFile(path, []byte{byte(n)}, 0o600); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(n, strings.Count(log.String(), "WARN"))
}

// Where the system gives no notifications the files are looked at.
func TestStarved(t *testing.T) {
	program, err := os.Executable()
	must(t, err)
	path := t.TempDir() + "/mcp.json"
	put(t, path, "one")
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = append(os.Environ(), starvedFile+"="+path)
	out, err := cmd.CombinedOutput()
	must(t, err)
	switch got := strings.TrimSpace(string(out)); got {
	case "3 1":
	case "not starved":
		t.Skip("this system cannot be starved")
	default:
		t.Errorf("%s", got)
	}
}
