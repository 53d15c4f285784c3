package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mcpbelt/mcpbelt/registry/profile"
	"github.com/mcpbelt/mcpbelt/registry/result"
	"github.com/mcpbelt/mcpbelt/storage"
)

// patience is how long an agent works, and waits for its user.
const patience = 30 * time.Minute

// model plays a language model: it calls the tools that the prompt says, as in
//
//	today; notes__add {"text": "buy milk"}
//
// A real one is asked by an adapter of mcpbelt, with what turn.Set has.
func model(prompt string) (calls []profile.Call) {
	for i, part := range strings.Split(prompt, ";") {
		if name, args, _ := strings.Cut(strings.TrimSpace(part), " "); name != "" {
			calls = append(calls, profile.Call{ID: fmt.Sprint("call-", i), Name: name, Arguments: json.RawMessage(args)})
		}
	}
	return calls
}

// work has an agent answer a prompt, and keeps what it says and does in the transcript.
func (o *office) work(ctx context.Context, replica, prompt string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := o.say(ctx, "%s: %s", o.user, prompt); err != nil {
		return err
	}
	turn, err := profile.NewTurn(ctx, o.host.Registry(), profile.OpenAI, nil)
	if err != nil {
		return err
	}
	answers, err := turn.Run(ctx, model(prompt))
	if waiting, ok := errors.AsType[*profile.WaitingError](err); ok {
		for _, a := range waiting.Waiting() {
			if err := o.say(ctx, "agent at %s: %s waits for you", replica, a.Call.Name); err != nil {
				return err
			}
		}
		answers, err = turn.Wait(ctx, waiting) // for an answer or a login on any replica
	}
	for _, a := range answers {
		err = errors.Join(err, o.say(ctx, "agent at %s: %s: %s", replica, a.Call.Name, result.Text(a.Result)))
	}
	return err
}

// The transcript is a record of the user, so that each replica shows it.
const (
	transcriptName = "transcript"
	maxLines       = 50
)

// transcript returns what was said and done last.
func (o *office) transcript(ctx context.Context) (lines []string, at storage.Revision, err error) {
	r, err := o.store.Load(ctx, transcriptName, "")
	if errors.Is(err, storage.ErrNotFound) {
		return nil, "", nil
	}
	if err == nil {
		err = json.Unmarshal(r.Data, &lines)
	}
	return lines, r.Revision, err
}

// say adds a line. It is tried again if another agent, perhaps on another replica, was faster.
func (o *office) say(ctx context.Context, format string, args ...any) error {
	line := fmt.Sprintf(format, args...)
	for {
		lines, at, err := o.transcript(ctx)
		if err != nil {
			return err
		}
		lines = append(lines, line[:min(len(line), 1000)])
		data, err := json.Marshal(lines[max(0, len(lines)-maxLines):])
		if err != nil {
			return err
		}
		if _, err = o.store.Save(ctx, transcriptName, data, at); !errors.Is(err, storage.ErrConflict) {
			return err
		}
	}
}
