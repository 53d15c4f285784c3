package lifecycle

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var update = flag.Bool("update", false, "draw the picture in docs/design/host.md")

// Each event in each state has one row, which leads somewhere or says why there is none; each state is reached.
func TestTable(t *testing.T) {
	reached := []State{Absent}
	for i := 0; i < len(reached); i++ {
		for _, on := range []Event{
			Remove, Disable, Invalidate, Refuse, Quarantine, Start, Succeed, Fail,
		} {
			row := assert.Only(t, slices.DeleteFunc(slices.Clone(table), func(r Row) bool {
				return !slices.Contains(r.From, reached[i]) || !slices.Contains(r.On, on)
			}), "%s, %s: rows", reached[i], on)
			assert.Equal(t, row.To == "", row.Impossible != "", "%s, %s: leads nowhere", reached[i], on)
			assert.Equal(t, row.Do == "", row.Impossible != "", "%s, %s: has nothing to do", reached[i], on)
			if row.To != "" && !slices.Contains(reached, row.To) {
				reached = append(reached, row.To)
			}
		}
	}
	for _, r := range table {
		for _, from := range r.From {
			assert.True(t, slices.Contains(reached, from), "%s is reached", from)
		}
	}
}

// The picture in the docs is that of the tables.
func TestPicture(t *testing.T) {
	picture := "stateDiagram-v2\n    [*] --> absent\n"
	for _, r := range table {
		for _, from := range r.From {
			if r.Impossible == "" {
				picture += fmt.Sprintf("    %s --> %s: %s / %s\n", from, r.To, r.On[0], r.Do)
			}
		}
	}
	picture += "```\n\n| connection | tools not known | cannot be listed | listed |\n|---|---|---|---|\n"
	for phase := mcp.Idle; phase <= mcp.Closed; phase++ {
		picture += fmt.Sprintf("| %s | %s |\n", phase, strings.Join(stages[phase], " | "))
	}
	const page = "../../../docs/design/host.md"
	text := string(assert.Value(os.ReadFile(page))(t))
	place := regexp.MustCompile(`(?s)stateDiagram-v2\n.*?\| closed .*?\n`)
	if *update {
		text = place.ReplaceAllString(text, picture)
		assert.OK(t, os.WriteFile(page, []byte(text), 0o644))
	}
	assert.Equal(t, place.FindString(text), picture, "run it with -update")
}
