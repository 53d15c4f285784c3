package main

import (
	"io"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// printed returns what is written to standard output meanwhile.
func printed(t *testing.T, do func() error) string {
	t.Helper()
	out, in, err := os.Pipe()
	assert.OK(t, err)
	stdout := os.Stdout
	os.Stdout = in
	defer func() { os.Stdout = stdout }()
	all := make(chan string)
	go func() {
		text, _ := io.ReadAll(out)
		all <- string(text)
	}()
	failed := do()
	assert.OK(t, in.Close())
	text := <-all
	assert.OK(t, failed, "%s", text)
	return text
}

// A conversation with the example server, in both eras.
func TestFeatures(t *testing.T) {
	server := assert.Value(build(t.Context(), t.TempDir()))(t)
	for _, revision := range []string{"2026-07-28", "2025-11-25"} {
		out := printed(t, func() error { return talk(t.Context(), server, false, revision) })
		for want := range strings.Lines(`Connected by revision ` + revision + `.
3 of 3: counted to 3
measure -> {"characters":13,"lines":2,"words":3}
features asks: Who are you?
introduce {} -> This is Ada.
connect_account {} -> The account is connected.
features asks the model: You summarize journals in one sentence.
summarize {} -> Summary by canned: Nothing to speak of.
list_roots {} -> The client's roots:
file:///srv/notes notes
template journal://entries/{number}
journal://all is now "Journal\n"
log of features: info: "entry 2 was written"
journal://all is now "Journal\n1. It rained.\n2. The sun came out.\n"
journal://entries/2 is "The sun came out."
language es... can be ["Español" "Esperanto"]
user: [journal://all] Journal
1. It rained.
user: Review this journal. Look at the weather. Answer in Esperanto.
-> Read 10 sources about rain.
features asks: Under which title
publish {} -> 2 entries were published as "Ada's days".
`) {
			assert.Contains(t, out, strings.TrimSuffix(want, "\n"), "%s", revision)
		}
		// Only there the example server has tasks.
		assert.Equal(t, strings.Contains(out, "task working reading source"), revision == "2026-07-28", "%s: a task works", revision)
	}
}
