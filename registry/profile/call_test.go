package profile_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

func TestSetCall(t *testing.T) {
	ctx := t.Context()
	reg := registry.New(nil)
	type input struct {
		To   string   `json:"to"`
		Tags []string `json:"tags,omitempty"`
		Note *string  `json:"note,omitempty"`
	}
	var got input
	send := registry.MustFunc("mail.send", "Send a mail", func(_ context.Context, in input) (string, error) {
		got = in
		return "sent", nil
	})
	other := registry.MustFunc("other", "Another tool", func(context.Context, struct{}) (string, error) { return "other", nil })
	assert.OK(t, reg.Add(send))
	assert.OK(t, reg.Add(other))
	set := assert.Value(profile.Compile(profile.OpenAIStrict, []registry.Tool{send}, nil))(t)
	name := set.Tools()[0].Name
	if name == "mail.send" || !set.Tools()[0].Strict {
		t.Fatalf("%s, strict: %v", name, set.Tools()[0].Strict)
	}
	res, err := set.Call(ctx, reg, name, json.RawMessage(`{"to":"you","tags":["a"],"note":null}`))
	if err != nil || res.IsError || got.To != "you" || !slices.Equal(got.Tags, []string{"a"}) || got.Note != nil {
		t.Errorf("%v, %v, %+v", res, err, got)
	}
	if _, err := set.Call(ctx, reg, "other", nil); err != nil {
		t.Errorf("a tool that is not in the set: %v", err)
	}
	if _, err := set.Call(ctx, reg, "Mail-Send", json.RawMessage(`{"to":"you","tags":["c"],"note":null}`)); err != nil || !slices.Equal(got.Tags, []string{"c"}) {
		t.Errorf("a name in another way: %v, %+v", err, got)
	}
	var unknown *registry.UnknownToolError
	if _, err := set.Call(ctx, reg, "nothing", nil); !errors.As(err, &unknown) {
		t.Errorf("got %v", err)
	}
	var refused *registry.ArgumentsError
	if _, err := set.Call(ctx, reg, name, json.RawMessage(`{"to":`)); !errors.As(err, &refused) {
		t.Errorf("got %v", err)
	}
	if _, err := set.Call(ctx, reg, name, json.RawMessage(`{"to":7,"tags":null,"note":null}`)); !errors.As(err, &refused) {
		t.Errorf("got %v", err)
	}
}
