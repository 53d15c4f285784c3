package result

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

// The scan for words finds what this pattern does.
func TestHasErrorWord(t *testing.T) {
	pattern := regexp.MustCompile(`(?i)\b(error|errors|failed|failure|fatal|panic|exception|traceback|denied|abort(ed)?)\b|Error\b|Exception\b`)
	pieces := []string{"error", "Errors", "FAILED", "failure", "fatal", "panic", "Exception", "traceback", "denied", "abort", "aborted", "Type", "s", "_", "1", " ", ": ", "ä", "\xff", "\n", "ab", "erro", "r"}
	random := rand.New(rand.NewPCG(1, 2))
	for range 50_000 {
		var text strings.Builder
		for range random.IntN(5) {
			text.WriteString(pieces[random.IntN(len(pieces))])
		}
		if got, want := hasErrorWord(text.String()), pattern.MatchString(text.String()); got != want {
			t.Fatalf("got %v for %q, want %v", got, text.String(), want)
		}
	}
}
