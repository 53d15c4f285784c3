package main

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestFeatures runs the program as a reader of the README does, in both eras.
func TestFeatures(t *testing.T) {
	for _, revision := range []string{"2026-07-28", "2025-11-25"} {
		t.Run(revision, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			out, err := exec.CommandContext(ctx, "go", "run", ".", "-revision", revision).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			wants := []string{
				"Connected by revision " + revision + ".",
				"3 of 3: counted to 3",
				`measure -> {"characters":13,"lines":2,"words":3}`,
				"features asks: Who are you?",
				"introduce {} -> This is Ada.",
				"connect_account {} -> The account is connected.",
				"features asks the model: You summarize journals in one sentence.",
				"summarize {} -> Summary by canned: Nothing to speak of.",
				"list_roots {} -> The client's roots:\nfile:///srv/notes notes",
				"template journal://entries/{number}",
				`journal://all is now "Journal\n"`,
				`log of features: info: "entry 2 was written"`,
				`journal://all is now "Journal\n1. It rained.\n2. The sun came out.\n"`,
				`journal://entries/2 is "The sun came out."`,
				`language es... can be ["Español" "Esperanto"]`,
				"user: [journal://all] Journal\n1. It rained.",
				"user: Review this journal. Look at the weather. Answer in Esperanto.",
				`-> Read 10 sources about rain.`,
				"features asks: Under which title",
				`publish {} -> 2 entries were published as "Ada's days".`,
			}
			if revision == "2026-07-28" { // where the example server has tasks
				wants = append(wants, "task working reading source")
			}
			for _, want := range wants {
				if !strings.Contains(string(out), want) {
					t.Errorf("the output lacks %q:\n%s", want, out)
				}
			}
		})
	}
}
