package toolset

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/registry"
)

// A model that has to search is told of its tools, and they are read in the background for
// its first search; again when they have changed. Nothing is read where no search comes.
func TestToolsetReadsToolsInTheBackground(t *testing.T) {
	r := registry.New(nil)
	f := assert.Value(New(r, nil))(t)
	replace := func(tools int) {
		t.Helper()
		var all []registry.Tool
		for i := range tools {
			all = append(all, &bareTool{&registry.Definition{InputSchema: json.RawMessage(`{}`), Origin: registry.Origin{Server: "s", Tool: fmt.Sprintf("tool%d", i)}}})
		}
		assert.Value(r.Replace(registry.Server{Name: "s"}, all))(t)
	}
	indexed := func() int { // once nothing is read any more
		<-f.index.turn
		defer func() { f.index.turn <- struct{}{} }()
		return f.index.words.Len()
	}
	replace(10)
	f.Toolset(t.Context(), nil)
	assert.Equal(t, indexed(), 0, "a model that sees all tools: in the index")
	for _, want := range []int{500, 501, 400} {
		replace(want)
		for range 3 {
			f.Toolset(t.Context(), nil)
		}
		assert.Equal(t, indexed(), want, "tools in the index")
		assert.Equal(t, f.index.version, r.Snapshot().Version(), "%d tools: the index of version", want)
	}
}

// A search that comes while the tools are read waits for that, and does not read them
// itself.
func TestSearchWaitsForWhatIsRead(t *testing.T) {
	r := registry.New(nil)
	f := assert.Value(New(r, nil))(t)
	assert.OK(t, r.Add(&bareTool{&registry.Definition{Name: "count", InputSchema: json.RawMessage(`{}`)}}))
	<-f.index.turn // as if they were read now
	found := make(chan int)
	go func() {
		matches, err := f.Search(t.Context(), Query{Text: "count"})
		if err != nil {
			t.Error(err)
		}
		found <- len(matches)
	}()
	f.index.warm(r.Snapshot()) // starts nothing
	select {
	case n := <-found:
		t.Errorf("got %d matches before the tools were read", n)
	default:
	}
	assert.OK(t, f.index.update(t.Context(), r.Snapshot()))
	read := &f.index.read[0]
	f.index.turn <- struct{}{}
	assert.Equal(t, <-found, 1, "matches")
	assert.Equal(t, &f.index.read[0], read, "the tools were read twice")
}
