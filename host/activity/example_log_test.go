package activity_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/mcpbelt/mcpbelt/host/activity"
)

// The newest events are at hand in memory, and all of them in a file.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "activity")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	file, err := activity.OpenFile(filepath.Join(dir, "activity.jsonl"))
	if err != nil {
		fmt.Println(err)
		return
	}
	memory := activity.NewMemory(100)
	log := activity.New(nil, file, memory)
	log.Record(ctx, activity.Event{Kind: "call", Server: "github", Tool: "create_issue", Outcome: "ok"})
	log.Record(ctx, activity.Event{Kind: "denied", Server: "github", Tool: "delete_repository", Outcome: "denied"})
	if err := log.Close(ctx); err != nil {
		fmt.Println(err)
	}
	for _, e := range memory.Recent(nil, 10) {
		fmt.Println(e.Kind, e.Tool)
	}
	for e, err := range file.Events(&activity.Filter{Outcomes: []string{"ok"}}) {
		fmt.Println(e.Tool, err)
	}
	// Output:
	// denied delete_repository
	// call create_issue
	// create_issue <nil>
}

// Arguments that mean the same have one hash, which does not tell what they are.
func ExampleLog_Record() {
	ctx := context.Background()
	memory := activity.NewMemory(0)
	log := activity.New(nil, memory)
	log.Record(ctx, activity.Event{Kind: "call", Arguments: []byte(`{"pin":1234,"to":"bob"}`)})
	log.Record(ctx, activity.Event{Kind: "call", Arguments: []byte(`{ "to": "bob", "pin": 1234.0 }`)})
	_ = log.Close(ctx)
	events := memory.Recent(nil, 0)
	fmt.Println(events[0].ArgumentHash == events[1].ArgumentHash, events[0].ArgumentBytes, events[0].Arguments == nil)
	// Output: true 30 true
}

func ExampleEvents() {
	for e, err := range activity.Events("/no/such/activity.jsonl", &activity.Filter{User: "ann"}) {
		if err != nil {
			fmt.Println(err)
			break
		}
		fmt.Println(e.Time, e.Kind, e.Server, e.Tool, e.Outcome)
	}
	// Output:
}

// A slogSink logs events by package log/slog.
type slogSink struct{ logger *slog.Logger }

// Write implements activity.Sink.
func (s slogSink) Write(ctx context.Context, events []activity.Event) error {
	for _, e := range events {
		s.logger.InfoContext(ctx, e.Kind, "server", e.Server, "tool", e.Tool, "outcome", e.Outcome)
	}
	return nil
}

// A sink of the program's own is a few lines.
func ExampleSink() {
	ctx := context.Background()
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	log := activity.New(nil, slogSink{logger})
	log.Record(ctx, activity.Event{Kind: "call", Server: "github", Tool: "create_issue", Outcome: "timeout"})
	_ = log.Close(ctx)
	// Output: level=INFO msg=call server=github tool=create_issue outcome=timeout
}
