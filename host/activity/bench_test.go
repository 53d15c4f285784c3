package activity_test

import (
	"context"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/activity"
	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// What a call pays for being recorded, with arguments of about 100 bytes.
func BenchmarkRecord(b *testing.B) {
	l := activity.New(nil, activity.NewMemory(0))
	defer l.Close(context.Background())
	e := activity.Event{
		Kind: activity.KindCall, Server: "github", Tool: "create_issue", Outcome: activity.OK,
		Arguments: []byte(`{"owner":"somebody","repository":"something","title":"It does not work","labels":["bug","new"]}`),
	}
	b.ReportAllocs()
	for b.Loop() {
		l.Record(b.Context(), e)
	}
}

func BenchmarkFileWrite(b *testing.B) {
	f := assert.Value(activity.OpenFile(b.TempDir()+"/a.jsonl", nil))(b)
	batch := make([]activity.Event, 64)
	for i := range batch {
		batch[i] = numbered(i)
	}
	b.ReportAllocs()
	for b.Loop() {
		assert.OK(b, f.Write(b.Context(), batch))
	}
}
