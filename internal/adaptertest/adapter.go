package adaptertest

import (
	"context"
	"testing"

	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/profile"
)

// An Adapter is what is tested: an adapter with one runtime of its framework.
type Adapter struct {
	// Name is that of the adapter's folder.
	Name string
	// Runtime says what runs the tools, such as "Responses" or "ToolsNode". It is
	// part of a file name: letters, digits and dashes.
	Runtime string
	// Framework is the path of the framework's module.
	Framework string
	// Wire is how the runtime speaks to its model.
	Wire Wire
	// Start returns the framework's own loop with the tools of a registry and a model
	// at a base URL, which does not end in a slash. It closes by t.Cleanup what it opens.
	Start func(t *testing.T, r *registry.Registry, url string) Agent

	// Interrupt names what the program gets when a call waits for a person.
	Interrupt string
	// InOrder says that the framework runs the calls of a message one by one.
	InOrder bool
	// Unordered says that the framework has the results of a message in the order in
	// which the calls end.
	Unordered bool
	// TextOnly says that the framework takes no images as results. They have to come
	// as a line of text.
	TextOnly bool
	// Fixed says that the tools of a conversation cannot change; a new agent has the
	// new ones.
	Fixed bool
	// Without are the checks that cannot pass, with the reason, which goes into the
	// table.
	Without map[string]string
}

// An Agent is a conversation that the framework's runtime has with a model. The kit
// uses it from one goroutine.
type Agent interface {
	// Ask gives the model a message of the user, and lets the runtime work until the
	// model answers with text, or calls wait for a person.
	Ask(ctx context.Context, message string) (*Turn, error)
	// Resume goes on after a Turn that waits: meanwhile the person has answered, by
	// the registry's Resume or Refuse, or has logged in. It comes to an end as Ask does.
	Resume(ctx context.Context) (*Turn, error)
}

// A Turn is what came of a message.
type Turn struct {
	// Text is the model's answer; empty if something waits.
	Text string
	// Waits are the calls that wait for a person.
	Waits []profile.Wait
}

// Waiting returns the turn of an agent whose program got a WaitingError.
func Waiting(e *profile.WaitingError) *Turn {
	t := &Turn{}
	for _, a := range e.Waiting() {
		t.Waits = append(t.Waits, profile.WaitOf(&a))
	}
	return t
}
