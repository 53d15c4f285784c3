package nearest_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/nearest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestEdits(t *testing.T) {
	long := strings.Repeat("a", 200)
	for _, test := range []struct {
		a, b  string
		limit int
		want  int // -1: too many
	}{
		{"", "", 0, 0}, {"", "ab", 2, 2}, {"ab", "", 1, -1}, {"name", "name", 0, 0}, {"nmae", "name", 1, 1},
		{"nam", "name", 1, 1}, {"nbme", "name", 1, 1}, {"naame", "name", 0, -1}, {"kitten", "sitting", 3, 3},
		{"kitten", "sitting", 2, -1},
		{"ca", "abc", 3, 3}, // a letter that was swapped is not changed again
		{long, long + "b", 1, 1},
		{"ä", "a", 2, 2}, // bytes
	} {
		got, ok := nearest.Edits([]byte(test.a), []byte(test.b), test.limit)
		if !ok {
			got = -1
		}
		assert.Equal(t, got, test.want, "edits from %.20q to %.20q within %d", test.a, test.b, test.limit)
	}
	got, _ := nearest.Edits([]rune("ä"), []rune("a"), 1)
	assert.Equal(t, got, 1, "edits of characters")
}

func TestNames(t *testing.T) {
	names := []string{"create_issue", "create-issues", "CreateIssue", "remove_label", "x", strings.Repeat("y", 300)}
	for _, test := range []struct {
		asked string
		most  int
		want  []string
	}{
		{"createissue", 3, []string{"create_issue", "CreateIssue", "create-issues"}},
		{"create_issue", 1, []string{"create_issue"}},
		{"remvoe_label", 3, []string{"remove_label"}},
		{"y", 3, nil}, {"", 3, nil}, {"---", 3, nil}, {strings.Repeat("y", 300), 3, nil},
	} {
		assert.Equal(t, fmt.Sprintf("%q", nearest.Names(test.asked, names, test.most)), fmt.Sprintf("%q", test.want), "%.20q", test.asked)
	}
}

// A limit leaves out what is too far, and changes nothing about what is not.
func TestEditsWithinALimit(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	name := func() []byte {
		b := make([]byte, random.IntN(12))
		for i := range b {
			b[i] = "ab_"[random.IntN(3)]
		}
		return b
	}
	for range 20_000 {
		a, b := name(), name()
		want, _ := nearest.Edits(a, b, 100)
		limit := random.IntN(8)
		got, ok := nearest.Edits(a, b, limit)
		assert.Equal(t, ok, (want <= limit), "%q %q", a, b)
		if ok {
			assert.Equal(t, got, want, "edits from %q to %q within %d", a, b, limit)
		}
	}
}
