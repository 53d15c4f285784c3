package statedir

import (
	"errors"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestFolderIsTheUsers: variables that are no absolute path do not make the folder
// that the program runs in the one that says what was allowed.
func TestFolderIsTheUsers(t *testing.T) {
	for _, test := range []struct{ name, state, home, want string }{
		{"home", "", "/home/ann", "/home/ann/.local/state/mcpbelt"},
		{"moved", "/x", "/home/ann", "/x/mcpbelt"},
		{"relative state", "x", "/home/ann", "/home/ann/.local/state/mcpbelt"},
		{"relative home", "", ".", ""},
		{"both", "x", "home", ""},
		{"no home", "", "", ""},
	} {
		home := func() (string, error) {
			if test.home == "" {
				return "", errors.New("there is none")
			}
			return test.home, nil
		}
		getenv := func(name string) string { return map[string]string{"XDG_STATE_HOME": test.state}[name] }
		assert.Equal(t, defaultFolder("linux", getenv, home), test.want, "%s", test.name)
	}
}
