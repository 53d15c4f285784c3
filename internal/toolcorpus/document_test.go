package toolcorpus_test

import (
	"slices"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/toolcorpus"
)

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
