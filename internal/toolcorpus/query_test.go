package toolcorpus_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/toolcorpus"
)

func TestQueries(t *testing.T) {
	tools := map[string]bool{}
	for _, s := range toolcorpus.Servers() {
		for _, tool := range s.Tools {
			tools[s.Name+"/"+tool.Name] = true
		}
	}
	ids, texts, halves, kinds := map[string]bool{}, map[string]bool{}, map[string]int{}, map[string]int{}
	queries := toolcorpus.Queries()
	for _, q := range queries {
		assert.False(t, ids[q.ID] || texts[q.Text] || strings.TrimSpace(q.Text) == "", "%s: %q is there twice, or empty", q.ID, q.Text)
		ids[q.ID], texts[q.Text] = true, true
		kind, _, _ := strings.Cut(q.ID, "-")
		want := toolcorpus.Tuning // and every second one is held out
		if kinds[kind]%2 == 1 {
			want = toolcorpus.HeldOut
		}
		assert.Equal(t, q.Half, want, "%s is in the half", q.ID)
		kinds[kind]++
		halves[q.Half]++
		for tool, grade := range q.Relevant {
			assert.True(t, tools[tool] && grade >= 1 && grade <= 3, "%s: the grade %d is one, and %s a tool", q.ID, grade, tool)
		}
		assert.True(t, slices.Max(slices.Collect(maps.Values(q.Relevant))) >= 2, "%s: something of %v does what is wanted", q.ID, q.Relevant)
	}
	assert.True(t, len(queries) >= 200 && halves[toolcorpus.HeldOut] >= 100, "%d queries, %v, are enough", len(queries), halves)
	assert.Equal(t, len(kinds), 9, "kinds of queries")
}

// TestUnseen finds the same queries by comparing each with each.
func TestUnseen(t *testing.T) {
	queries := toolcorpus.Queries()
	var want []string
	for _, held := range queries {
		best := slices.Max(slices.Collect(maps.Values(held.Relevant)))
		unseen := held.Half == toolcorpus.HeldOut
		for _, tuning := range queries {
			if tuning.Half != toolcorpus.Tuning {
				continue
			}
			top := slices.Max(slices.Collect(maps.Values(tuning.Relevant)))
			for tool, grade := range held.Relevant {
				unseen = unseen && (grade < best || tuning.Relevant[tool] < top)
			}
		}
		if unseen {
			want = append(want, held.ID)
		}
	}
	var got []string
	for _, q := range toolcorpus.Unseen() {
		got = append(got, q.ID)
	}
	assert.Equal(t, fmt.Sprintf("%q", got), fmt.Sprintf("%q", want))
	assert.False(t, len(got) < 50, "%d are fewer than %d", len(got), 50)
}

func TestDocuments(t *testing.T) {
	docs := toolcorpus.Documents()
	tools := 0
	for _, s := range toolcorpus.Servers() {
		tools += len(s.Tools)
	}
	assert.Equal(t, len(docs), tools)
	find := func(key string) toolcorpus.Document {
		i := slices.IndexFunc(docs, func(d toolcorpus.Document) bool { return d.Key == key })
		if i < 0 {
			t.Fatalf("there is no %s", key)
		}
		return docs[i]
	}
	want := toolcorpus.Document{
		Key: "stripe/create_refund", Server: "stripe", Name: "create_refund",
		Parameters: "amount\nThe amount to refund in cents.\npayment_intent\nThe ID of the PaymentIntent to refund.",
	}
	got := find(want.Key)
	assert.Contains(t, got.Description, "refund a payment intent", "the description")
	got.Description = ""
	assert.Equal(t, got, want)
	// At the top, below items, below a property, below a union.
	for key, line := range map[string]string{
		"kubernetes/kubectl_get":               "labelSelector",
		"memory/create_entities":               "entityType",
		"hubspot/hubspot-batch-create-objects": "associationTypeId",
		"github/create_pull_request_review":    "position",
	} {
		assert.Contains(t, "\n"+find(key).Parameters+"\n", "\n"+line+"\n", key)
	}
}
