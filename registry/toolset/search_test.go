// Tests of search.go: what a search finds among tools.

package toolset_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/internal/toolcorpus"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
	"github.com/mcpbelt/mcpbelt/registry/policy"
	"github.com/mcpbelt/mcpbelt/registry/toolset"
)

// The index follows each change of the catalogue.
func TestSearchFollowsTheCatalogue(t *testing.T) {
	r := newBelt(t, nil, nil)
	wantFound(t, r, "invoice")
	mustReplace(t, r, "acme", serverTool("acme", "delete_invoice", "Deletes it."), serverTool("acme", "send_reminder", ""))
	wantFound(t, r, "invoice", "acme__delete_invoice")
	mustAdd(t, r, native("print_invoice"))
	wantFound(t, r, "print an invoice", "print_invoice", "acme__delete_invoice")

	// A description that changes changes what finds the tool.
	mustReplace(t, r, "acme", serverTool("acme", "delete_invoice", "Shreds paper."), serverTool("acme", "void", "Cancels a contract."))
	wantFound(t, r, "paper", "acme__delete_invoice")
	wantFound(t, r, "reminder")
	wantFound(t, r, "contracts", "acme__void")

	r.Remove("print_invoice")
	assert.False(t, slices.Contains(found(t, r, toolset.Query{Text: "print"}), "print_invoice"), "a tool that is gone is found")
	mustReplace(t, r, "acme")
	wantFound(t, r, "invoice")
}

// A server that came back answers, not the one that is gone.
func TestSearchReturnsWhatIsThereNow(t *testing.T) {
	r := newBelt(t, nil, nil)
	mustReplace(t, r, "notes", serverTool("notes", "write", ""))
	wantFound(t, r, "write", "notes__write")
	before := r.Snapshot()
	again := serverTool("notes", "write", "")
	mustReplace(t, r, "notes", again)
	assert.Equal(t, r.Snapshot().Version(), before.Version(), "the same definitions make a new version")
	assert.Equal(t, assert.Only(t, assert.Value(r.Search(t.Context(), toolset.Query{Text: "write"}))(t)).Tool, registry.Tool(again), "the tool")
}

// What waits for approval is not found before a person approved it.
func TestSearchFindsNothingInQuarantine(t *testing.T) {
	accepted := ledger.New(nil)
	r := newBelt(t, &registry.Options{Ledger: accepted}, nil)
	mustReplace(t, r, "notes", serverTool("notes", "write", ""))
	mustReplace(t, r, "notes", serverTool("notes", "write", ""), serverTool("notes", "burn", "Writes with fire."))
	wantFound(t, r, "burn", []string{}...)
	assert.OK(t, accepted.Accept(t.Context(), "me", accepted.Pending()...))
	wantFound(t, r, "burn", "notes__burn")
}

// A user does not find tools that they may not call, nor the tools for searching
// themselves.
func TestSearchIsForTheUser(t *testing.T) {
	r := newBelt(t, &registry.Options{
		Approver: mustPolicy(t, approval.Allow, policy.Rule{Verdict: approval.Deny, User: "guest", Tool: "*delete*"}),
	}, nil)
	mustReplace(t, r, "notes", serverTool("notes", "delete_note", ""), serverTool("notes", "read_note", ""))
	for user, want := range map[string][]string{
		"guest": {"notes__read_note"},
		"owner": {"notes__read_note", "notes__delete_note"},
	} {
		matches := assert.Value(r.Search(onbehalf.With(t.Context(), user), toolset.Query{Text: "note"}))(t)
		var got []string
		for _, m := range matches {
			got = append(got, m.Tool.Definition().Name)
		}
		assert.List(t, got, want, "%s finds", user)
	}
	wantFound(t, r, "search tools")
}

func TestSearchFilters(t *testing.T) {
	r := newBelt(t, nil, nil)
	for i := range 300 {
		mustReplace(t, r, fmt.Sprintf("s%d", i), serverTool(fmt.Sprintf("s%d", i), "read_note", "Reads a note."))
	}
	mustAdd(t, r, native("note"))
	assert.Equal(t, len(found(t, r, toolset.Query{Text: "note"})), 5, "tools without a limit")
	assert.Equal(t, len(found(t, r, toolset.Query{Text: "note", Limit: 1000})), 100, "tools")
	assert.Equal(t, len(found(t, r, toolset.Query{Text: "note", Limit: -1})), 5, "tools")
	assert.List(t, found(t, r, toolset.Query{Text: "note", Servers: []string{"s299", "s7", "gone"}}), []string{"s299__read_note", "s7__read_note"}, "two servers")
	assert.List(t, found(t, r, toolset.Query{Text: "note", Servers: []string{""}}), []string{"note"}, "native tools")
	assert.Equal(t, len(found(t, r, toolset.Query{Text: "note", Servers: []string{}})), 0, "no server at all")
	asked := map[string]int{}
	last := toolset.Query{Text: "note", Keep: func(def *registry.Definition, h registry.Hints) bool {
		asked[def.Name]++
		assert.False(t, h.Annotated, "hints of a tool without annotations")
		return def.Origin.Server == "s123"
	}}
	assert.List(t, found(t, r, last), []string{"s123__read_note"}, "by a function")
	for name, n := range asked {
		assert.Between(t, n, 0, 1, "times that Keep was asked about %s", name)
	}
	// It may use the registry.
	nested := toolset.Query{Text: "note", Keep: func(*registry.Definition, registry.Hints) bool {
		r.Remove("note")
		_, _ = r.Search(t.Context(), toolset.Query{Text: "note"})
		return true
	}}
	assert.Equal(t, len(found(t, r, nested)), 5, "nested")
}

func TestSearchReadsEveryPart(t *testing.T) {
	r := newBelt(t, nil, nil)
	tool := serverTool("weather", "forecast", "Tells what tomorrow brings.")
	tool.def.Title = "Meteorology"
	tool.def.InputSchema = json.RawMessage(`{"type":"object","properties":{
		"where":{"anyOf":[{"type":"object","properties":{"postalCode":{"type":"string","description":"Of the municipality"}}},{"enum":["antarctica"]}]},
		"description":{"type":"string","title":"Wording"}}}`)
	mustReplace(t, r, "weather", tool, serverTool("weather", "other", ""))
	for _, query := range []string{"forecasts", "meteorology", "tomorrow", "postal_code", "postalCode", "municipalities", "antarctica", "wordings"} {
		wantFirst(t, r, query, "weather__forecast")
	}
	mustAdd(t, r, native("list_things"))
	wantFound(t, r, "qwxyz")
	wantFound(t, r, "antarctica", "weather__forecast")
	for _, query := range []string{"   \t ", "?!", "\xff\xfe"} {
		wantFound(t, r, query)
	}
	wantFirst(t, r, strings.Repeat("forecast ", 1<<17), "weather__forecast")
}

// A query of words that say nothing finds nothing but a tool that is called so.
func TestSearchForStopWords(t *testing.T) {
	r := newBelt(t, nil, nil)
	mustReplace(t, r, "quiz", serverTool("quiz", "how_to", ""), serverTool("quiz", "answer", "Says how to use it, and what for."))
	wantFound(t, r, "how to", "quiz__how_to")
	wantFound(t, r, "what is it for and how to use it")
}

// A query of which no tool has a word finds nothing, and not what its words are near to.
func TestSearchInAnotherLanguage(t *testing.T) {
	r := newBelt(t, nil, nil)
	mustReplace(t, r, "acme", serverTool("acme", "list_invoices", ""), serverTool("acme", "wipe_disk", "Kills all data."))
	wantFound(t, r, "wie kann ich alle dateien loschen", []string{}...)
}

// What the host says of a tool finds it, as when it is described in another language.
func TestSearchAbout(t *testing.T) {
	r := newBelt(t, nil, &toolset.Options{About: func(def *registry.Definition) string {
		if def.Name == "konto__loschen" {
			return "Remove invoices"
		}
		return ""
	}})
	mustReplace(t, r, "konto", serverTool("konto", "loschen", "Löscht Rechnungen."), serverTool("konto", "auflisten", "Listet Rechnungen auf."))
	wantFound(t, r, "delete an invoice", "konto__loschen")
}

// Of tools that fit as well, one that changes or deletes something is last, unless that is
// asked for.
func TestSearchSparesWhatIsThere(t *testing.T) {
	r := newBelt(t, nil, nil)
	mustReplace(t, r, "notes", serverTool("notes", "delete_note", ""), serverTool("notes", "print_note", ""),
		described("notes", "alter_note", "", `{}`, &mcp.ToolAnnotations{DestructiveHint: ptr(true)}))
	assert.List(t, found(t, r, toolset.Query{Text: "note", Limit: 1}), []string{"notes__print_note"})
	mustReplace(t, r, "mail", serverTool("mail", "write_letter", ""), serverTool("mail", "the_letter", ""))
	assert.List(t, found(t, r, toolset.Query{Text: "which letters are there", Limit: 1}), []string{"mail__the_letter"})
	assert.List(t, found(t, r, toolset.Query{Text: "remove note", Limit: 1}), []string{"notes__delete_note"})
}

// A conversation finds what it ends with, and words that are repeated count once.
func TestSearchForTheEndOfAConversation(t *testing.T) {
	r := manyTools(t)
	talk := strings.Repeat("We have spoken of the weather, of a campaign, of a playlist and of many more things. ", 120)
	for _, text := range []string{
		talk + "Now please delete the invoice of yesterday.",
		strings.Repeat("campaign ", 50) + "delete invoice",
	} {
		assert.True(t, slices.Contains(found(t, r, toolset.Query{Text: text}), "billing__delete_invoice"), "%.20s...: found", text)
	}
}

// TestSearchOfAStuffedTool: a tool that says all that people may ask for, often, is not found
// by all of it.
func TestSearchOfAStuffedTool(t *testing.T) {
	r := realTools(t)
	words := "search find create delete update list get send read write file issue page message email calendar database query browser image user customer payment branch repository"
	mustReplace(t, r, "greedy", serverTool("greedy", strings.ReplaceAll(words, " ", "_")[:120], strings.Repeat("Use this to "+words+". ", 40)))
	defer mustReplace(t, r, "greedy")
	in := 0
	queries := toolcorpus.Queries()
	queries = queries[:assert.Cases(20, len(queries))]
	for _, q := range queries {
		if slices.Contains(found(t, r, toolset.Query{Text: q.Text}), "greedy__"+strings.ReplaceAll(words, " ", "_")[:120]) {
			in++
		}
	}
	assert.Between(t, in, 0, len(queries)/20, "queries that find it among the first five")
}

func TestSearchEndsWithItsContext(t *testing.T) {
	r := newBelt(t, nil, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.Is(t, assert.Err(r.Search(ctx, toolset.Query{Text: "note"})), context.Canceled)
}

// Searches and changes at the same time find what is there.
func TestSearchWhileTheCatalogueChanges(t *testing.T) {
	r := newBelt(t, nil, nil)
	mustAdd(t, r, native("anchor"))
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			server := fmt.Sprintf("s%d", i)
			for n := range 50 {
				_, err := r.Replace(registry.Server{Name: server}, []registry.Tool{serverTool(server, fmt.Sprintf("tool_%d", n), "anchor")})
				assert.Equal(t, err, nil, "replacing the tools")
			}
		})
		wg.Go(func() {
			for range 50 {
				matches, err := r.Search(t.Context(), toolset.Query{Text: "anchor", Limit: 10})
				found := slices.ContainsFunc(matches, func(m toolset.Match) bool { return m.Tool.Definition().Name == "anchor" })
				assert.Equal(t, fmt.Sprint(found, err), "true <nil>", "the tool that stays is found")
			}
		})
	}
	wg.Wait()
	assert.Between(t, len(found(t, r, toolset.Query{Text: "tool 49", Limit: 10})), 4, math.MaxInt, "tools found in the end")
}

// Two words that mean one in a query mean it in a tool, too.
func TestSearchPhrases(t *testing.T) {
	for _, name := range []string{"sign_in", "rollBack", "clean-up", "how_many", "look_up_dns", "user_story"} {
		r := newBelt(t, nil, nil)
		mustAdd(t, r, native(name), native("other"))
		for _, query := range []string{name, strings.NewReplacer("_", " ", "-", " ", "B", " b").Replace(name)} {
			wantFound(t, r, query, name)
		}
	}
}

// TestSearchSpellings: a tool is found first among 500, however it is asked for.
func TestSearchSpellings(t *testing.T) {
	r := manyTools(t)
	for query, want := range map[string]string{
		"deleteInvoice":                        "billing__delete_invoice",
		"DeleteInvoice":                        "billing__delete_invoice",
		"DELETE_INVOICE":                       "billing__delete_invoice",
		"delete-invoice":                       "billing__delete_invoice",
		"delete.invoice":                       "billing__delete_invoice",
		"billing:delete_invoice":               "billing__delete_invoice",
		"billing__delete_invoice":              "billing__delete_invoice",
		"deleteinvoice":                        "billing__delete_invoice",
		"delete invoice":                       "billing__delete_invoice",
		"remove invoices":                      "billing__delete_invoice",
		"removing an invoice":                  "billing__delete_invoice",
		"erase the invoice":                    "billing__delete_invoice",
		"Please delete these invoices for me!": "billing__delete_invoice",
		"delte invioce":                        "billing__delete_invoice",
		"ＤＥＬＥＴＥ ｉｎｖｏｉｃｅ":                       "billing__delete_invoice",
		"délète invoïce":                       "billing__delete_invoice",
		"search tickets":                       "helpdesk__search_ticket",
		"find ticket":                          "helpdesk__search_ticket",
		"create calendar event":                "calendar__create_event",
		"add an event to the calendar":         "calendar__create_event",
		"which tickets are there":              "helpdesk__list_ticket",
		"pictures":                             "chat__list_image",
		"number of shipments":                  "legal__count_shipment",
		"get rid of an invoice":                "billing__delete_invoice",
		"how many shipments":                   "legal__count_shipment",
		"fetch repo":                           "forge__get_repository",
		"new directory":                        "drive__create_folder",
	} {
		wantFirst(t, r, query, want)
	}
}

// TestSearchRelevance: a search of real tools finds what people mean. The queries and the judgements were written before
// anything was fitted to them; what was fitted has only seen the half for it. What
// the measures were must not get worse.
func TestSearchRelevance(t *testing.T) {
	r := realTools(t)
	ours := func(text string) ([]string, error) { return keysFound(t, r, text), nil }
	halves := map[string][]toolcorpus.Query{"unseen": toolcorpus.Unseen()}
	for _, q := range toolcorpus.Queries() {
		halves[q.Half] = append(halves[q.Half], q)
	}
	for _, c := range []struct {
		name                            string
		ndcg5, recall5, right5, right15 float64
	}{
		{toolcorpus.Tuning, 0.80, 0.85, 0.94, 0.97},
		{toolcorpus.HeldOut, 0.71, 0.78, 0.85, 0.91},
		{"unseen", 0.69, 0.77, 0.85, 0.90},
	}[:assert.Cases(1, 3)] {
		got := assert.Value(toolcorpus.MeasureOf(halves[c.name], ours))(t)
		t.Logf("%s: %+v", c.name, got)
		for _, m := range []struct {
			name       string
			got, floor float64
		}{
			{"nDCG@5", got.NDCG5, c.ndcg5}, {"recall@5", got.Recall5, c.recall5}, {"right@5", got.Right5, c.right5}, {"right@15", got.Right15, c.right15},
		} {
			assert.Between(t, m.got, m.floor, math.MaxInt, "%s: %s", c.name, m.name)
		}
	}
}

// keysFound returns the keys of the tools that a search finds, as the judgements
// name them.
func keysFound(t testing.TB, r *belt, text string) []string {
	t.Helper()
	matches := assert.Value(r.Search(t.Context(), toolset.Query{Text: text, Limit: 15}))(t)
	keys := make([]string, len(matches))
	for i, m := range matches {
		origin := m.Tool.Definition().Origin
		keys[i] = origin.Server + "/" + origin.Tool
	}
	return keys
}
