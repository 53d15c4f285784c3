package main

import (
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The table is what the facts say.
func TestTableIsGenerated(t *testing.T) {
	facts := assert.Value(os.ReadFile("../forms.tsv"))(t)
	want := assert.Value(generate(string(facts)))(t)
	got := assert.Value(os.ReadFile("../forms_table.go"))(t)
	if string(got) != string(want) {
		t.Error("forms_table.go is not what forms.tsv says: run go generate ./internal/redact")
	}
}

func TestFactsRefused(t *testing.T) {
	for line, want := range map[string]string{
		"a\tb":                               "2 columns",
		"a\tabc_\t\talnum 8\tnowhere":        "no source",
		"a\tab\t\talnum 8\thttps://a":        "shorter than 3",
		"a\tabc_\t\talnum\thttps://a":        "no number",
		"a\tabc_\t\talnum 8x\thttps://a":     "invalid syntax",
		"a\tabc_\t\thex 8- hex 2\thttps://a": "only the last part",
		"a\tabc_\thex 8-\t\thttps://a":       "one part that ends",
		"a\tabc_\t\t\thttps://a":             "no form",
		"a\tabc_ abc_\t\thex 8\thttps://a":   "twice",
	} {
		if _, err := generate(line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want an error with %s", line, err, want)
		}
	}
}
