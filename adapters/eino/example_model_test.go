package eino_test

import (
	"context"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/approval"
	"github.com/mcpbelt/mcpbelt/registry/policy"
)

// A script is a model that says what it was told to, one message after the other.
type script struct{ messages []*schema.Message }

func (s *script) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return s, nil }

func (s *script) Generate(context.Context, []*schema.Message, ...model.Option) (*schema.Message, error) {
	next := s.messages[0]
	s.messages = s.messages[1:]
	return next, nil
}

func (s *script) Stream(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	next, err := s.Generate(ctx, in, opts...)
	return schema.StreamReaderFromArray([]*schema.Message{next}), err
}

// scripted returns a registry with a tool, and a model that calls it.
func scripted() (*registry.Registry, model.ToolCallingChatModel) {
	reg := registry.New(nil)
	err := reg.Add(registry.MustFunc("list", "Lists a folder", func(context.Context, target) ([]string, error) { return []string{}, nil }))
	if err != nil {
		panic(err)
	}
	return reg, &script{[]*schema.Message{call("list", `{"name":"."}`), schema.AssistantMessage("It is empty.", nil)}}
}

// scriptedWithApproval is scripted with a tool that needs an approval.
func scriptedWithApproval() (*registry.Registry, model.ToolCallingChatModel) {
	policy, err := policy.New(approval.Ask)
	if err != nil {
		panic(err)
	}
	reg := registry.New(&registry.Options{Approver: policy})
	err = reg.Add(registry.MustFunc("remove", "Removes a file", func(_ context.Context, in target) (string, error) { return "removed " + in.Name, nil }))
	if err != nil {
		panic(err)
	}
	return reg, &script{[]*schema.Message{call("remove", `{"name":"old.txt"}`), schema.AssistantMessage("It is gone.", nil)}}
}
