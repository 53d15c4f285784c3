package toolrank

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/bm25"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// asked returns the words of a query as an index is asked, without those that mean the same.
func asked(ix *bm25.Index, text string) []string {
	var words []string
	for _, t := range NewQuery(text).In(ix) {
		if !t.Bonus {
			words = append(words, t.Alternatives[0].Text)
		}
	}
	return words
}

// indexOf returns an index of tools with these names.
func indexOf(names ...string) *bm25.Index {
	ix := bm25.New(Options())
	for _, name := range names {
		ix.Put(name, Words(&Doc{Name: name}, 100)...)
	}
	return ix
}

func TestQueryWords(t *testing.T) {
	ix := indexOf("delete_invoice", "list_invoices", "how_to", "send_mail")
	for _, c := range []struct{ text, want string }{
		{"delete the invoice, delete it, please delete invoices", "delete invoice"}, // each counts once
		{"delte invioce", "delte invioce"},                                          // both may be misspelt
		{"deleteinvoice", "delete invoice"},                                         // two words in one
		{"xyzzy", ""},
		{"bitte alle rechnungen loschen, danke", ""}, // no word is known, and not each is guessed
		{"rechnungen mail loschen", "rechnungen mail loschen"},
		{"what is it to them", ""}, // nothing but stop words
		{"please", ""},
		{"how to", "how_to"}, // but a tool is called so
		{"", ""},
		{"?!", ""},
	} {
		assert.Equal(t, strings.Join(asked(ix, c.text), " "), c.want, "%q asks for", c.text)
	}
}

func TestQueryIsIdle(t *testing.T) {
	for text, want := range map[string]bool{"": true, " ?! ": true, "what is it": true, "how to": true, "mail": false, "xyzzy": false} {
		assert.Equal(t, NewQuery(text).IsIdle(), want, "%q is idle", text)
	}
}

// TestConversation: of a long text the last sentence counts most, and of what is between it
// and the first the rarest words that tools have.
func TestConversation(t *testing.T) {
	ix := indexOf("delete_invoice", "list_invoices", "send_mail", "get_weather", "get_mail")
	talk := "Good morning everybody.\n" + strings.Repeat("Somebody spoke of mail and weather at length, others of nothing that matters. ", 40)
	for i := range 300 {
		talk += " word" + strings.Repeat("x", i%40) + string(rune('a'+i%26))
	}
	terms := NewQuery(talk + ". Please delete the last invoice.").In(ix)
	assert.False(t, len(terms) > bm25.MaxTerms, "%d are more than %d", len(terms), bm25.MaxTerms)
	weights := map[string]float64{}
	var order []string
	for _, term := range terms {
		first := term.Alternatives[0]
		weights[first.Text] = first.Weight
		if ix.Frequency(first.Text) > 0 {
			order = append(order, first.Text)
		}
	}
	for word, want := range map[string]float64{"delete": 1, "invoice": 1, "morning": firstWeight, "mail": amidWeight, "weather": amidWeight} {
		assert.Equal(t, weights[word], want, "%s: got weight", word)
	}
	assert.Equal(t, fmt.Sprint(order[len(order)-2:]), "[weather mail]")
}

func TestDeletes(t *testing.T) {
	for text, want := range map[string]bool{"remove invoices": true, "get rid of it": true, "an invoice": false, "list deleted files": true} {
		assert.Equal(t, NewQuery(text).Deletes(), want, "%q deletes", text)
	}
	for name, want := range map[string]bool{"deleteInvoice": true, "drop-table": true, "list_invoices": false, "": false} {
		assert.Equal(t, IsDestructive(name), want, "%q is destructive", name)
	}
}

func TestChanges(t *testing.T) {
	for text, want := range map[string]bool{"what is in the database": false, "find a file": false, "show and edit a file": true, "invoices": false, "send mail": true} {
		assert.Equal(t, NewQuery(text).Changes(), want, "%q changes", text)
	}
	for name, want := range map[string]bool{"create_issue": true, "get_or_create_issue": false, "list_invoices": false, "deleteNote": true, "weather": false} {
		assert.Equal(t, IsChanging(name), want, "%q is changing", name)
	}
}

func TestDerived(t *testing.T) {
	for _, c := range [][2]string{{"translate", "translation"}, {"notify", "notification"}, {"authorize", "authorization"}, {"execute", "execution"}, {"transform", "transformation"}, {"collect", "collection"}, {"deploy", "deployment"}} {
		assert.True(t, slices.Contains(derived(c[0]), c[1]), "%s is derived of %s", c[1], c[0])
		assert.True(t, slices.Contains(derived(c[1]), c[0]), "%s is derived of %s", c[0], c[1])
	}
	assert.Equal(t, len(derived("get")), 0, "words of get")
}

// TestLongName: words of a name after the sixth count as those of a description do.
func TestLongName(t *testing.T) {
	words := Words(&Doc{Name: "get_list_find_search_read_show_invoice", Description: "Tells the time."}, 100)
	assert.False(t, slices.Contains(words[0], "invoice"), "the name has the seventh word")
	assert.True(t, slices.Contains(words[2], "invoice"), "the description has the seventh word")
}

// TestMisspelt: a misspelt word stands for what means the same as the word that is meant.
func TestMisspelt(t *testing.T) {
	for text, want := range map[string]string{"coleague": "list_users", "serch files": "find_files"} {
		ix := indexOf("list_users", "find_files", "get_weather")
		hits := ix.Search(NewQuery(text).In(ix), 1)
		assert.Equal(t, len(hits), 1, "%q", text)
		assert.Equal(t, hits[0].ID, want, "%q", text)
	}
}
