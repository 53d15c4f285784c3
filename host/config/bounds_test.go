package config

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// What a hostile file has a million of is told a hundred times, and looked up a
// thousand times.
func TestBounds(t *testing.T) {
	dir := t.TempDir()
	assert.OK(t, os.WriteFile(filepath.Join(dir, "f"), []byte("x"), 0o600))
	list := func(item string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, item, i)
		}
		return b.String()
	}
	looks := 0
	for name, test := range map[string]struct {
		text             string
		faults, warnings int
		says             string
	}{
		"faults":   {`{"mcpServers":{"a":{"command":"c","args":[` + list("%d,", 1000) + `]}}}`, maxFaults + 1, 0, "more faults than these 100"},
		"pairs":    {`{"mcpServers":{"a":{"command":"c","env":{` + list(`"A%d":"${NONE}",`, 1000) + `}}}}`, maxFaults + 1, 0, "more faults"},
		"warnings": {`{"mcpServers":{` + list(`"a%d":{"command":"c","cmd":1},`, 1000) + `}}`, 0, maxFaults + 1, "more warnings than these 100"},
		"files":    {`{"mcpServers":{"a":{"command":"c","args":[` + strings.Repeat(`"${file:f}",`, maxLooked+1) + `]}}}`, 1, 0, "use fewer"},
		"few":      {`{"mcpServers":{"a":{"command":"c","args":[` + strings.Repeat(`"${file:f}",`, maxLooked) + `]}}}`, 0, 0, ""},
		"keyring":  {`{"mcpServers":{"a":{"command":"c","args":[` + list(`"${keyring:k%d}",`, maxLooked+7) + `]}}}`, 7, 0, "use fewer"},
	} {
		looks = 0
		c, err := Parse(t.Context(), filepath.Join(dir, "mcp.json"), []byte(test.text), &Options{
			Lookup: func(string) (string, bool) { return "", false }, Secrets: all{&looks}})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var text strings.Builder
		faults := entryErrors(c.Servers[0].Err)
		for _, err := range append(faults, c.Warnings...) {
			text.WriteString(err.Error() + "\n")
		}
		if len(faults) != test.faults || len(c.Warnings) != test.warnings || !strings.Contains(text.String(), test.says) || looks > maxLooked {
			t.Errorf("%s: %d faults, %d warnings, %d looks: %.300s", name, len(faults), len(c.Warnings), looks, text.String())
		}
	}
}

// all has every secret.
type all struct{ looks *int }

func (a all) Secret(context.Context, string) (Secret, bool, error) {
	*a.looks++
	return "s", true, nil
}

func (a all) SetSecret(context.Context, string, Secret) error { return nil }

// entryErrors returns the errors that [Server.Err] joins.
func entryErrors(err error) []*Error {
	var all []*Error
	var one *Error
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range joined.Unwrap() {
			all = append(all, entryErrors(err)...)
		}
	} else if errors.As(err, &one) {
		all = append(all, one)
	}
	return all
}
