package catalog_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/internal/catalog"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// entry returns that of a server, made by the program.
func entry(name string) *config.Server { return &config.Server{Name: name, Command: "x"} }

// list returns a list of one tool.
func list(description string) []*mcp.Tool {
	return []*mcp.Tool{{Name: "t", Raw: []byte(fmt.Sprintf(`{"name":"t","description":%q,"inputSchema":{"type":"object"}}`, description))}}
}

// open returns a cache in a store, which is closed with the test.
func open(t *testing.T, store storage.Store) catalog.Cache {
	c := catalog.Open("", store)
	t.Cleanup(c.Close)
	return c
}

// save saves a list with a cache of its own, which has written it when it returns.
func save(store storage.Store, e *config.Server, tools []*mcp.Tool) {
	c := catalog.Open("", store)
	defer c.Close()
	c.Save(e, tools)
}

// recordNames returns the names of all records.
func recordNames(t *testing.T, store storage.Store) []string {
	t.Helper()
	var names []string
	for name, err := range store.Names(t.Context(), "") {
		assert.OK(t, err)
		names = append(names, name)
	}
	return names
}

// expectTool expects the list of one tool, or none if the description is empty.
func expectTool(t *testing.T, c catalog.Cache, e *config.Server, description string) {
	t.Helper()
	tools, ok := c.Load(t.Context(), e)
	if ok != (description != "") {
		t.Errorf("Load: got %t, want %t", ok, description != "")
		return
	}
	if ok && (len(tools) != 1 || tools[0].Description != description) {
		t.Errorf("Load: got %v, want the tool that is %s", tools, description)
	}
}

func TestShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storage.NewMemory()
		c := open(t, store)
		expectTool(t, c, entry("a"), "")
		long := strings.Repeat("a tool that does good. ", 50_000)
		save(store, entry("a"), list(long))
		expectTool(t, c, entry("a"), long)
		expectTool(t, c, entry("b"), "")
		expectTool(t, c, nil, "")
		names := recordNames(t, store)
		assert.Equal(t, len(names), 1, "records")
		assert.Contains(t, names[0], "catalog-")
		r, err := store.Load(t.Context(), names[0], "")
		assert.OK(t, err)
		assert.True(t, len(r.Data) <= len(long)/10, "a deflated record of %d bytes", len(r.Data))
		save(store, entry("a"), list(long))
		assert.Equal(t, assert.Value(store.Load(t.Context(), names[0], ""))(t).Revision, r.Revision, "the same list")
		save(store, entry("a"), list("new"))
		expectTool(t, c, entry("a"), "new")

		c.Close()
		c.Save(entry("a"), list("after the end"))
		expectTool(t, c, entry("a"), "new")
	})
}

// What is damaged is not there, and is replaced.
func TestSharedRecordDamaged(t *testing.T) {
	store := storage.NewMemory()
	c := open(t, store)
	save(store, entry("a"), list("good"))
	name := recordNames(t, store)[0]
	good, err := store.Load(t.Context(), name, "")
	assert.OK(t, err)
	flipped := slices.Clone(good.Data)
	flipped[len(flipped)/2] ^= 1
	at := good.Revision
	for _, bad := range [][]byte{nil, good.Data[:len(good.Data)-9], flipped, []byte("{}")} {
		at, err = store.Save(t.Context(), name, bad, at)
		assert.OK(t, err)
		expectTool(t, c, entry("a"), "")
	}
	save(store, entry("a"), list("good"))
	expectTool(t, c, entry("a"), "good")
}

// A slowStore answers after a time, or when the context ends.
type slowStore struct {
	storage.Store
	takes time.Duration
}

func (s slowStore) wait(ctx context.Context) error {
	select {
	case <-time.After(s.takes):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s slowStore) Load(ctx context.Context, name string, known storage.Revision) (storage.Record, error) {
	if err := s.wait(ctx); err != nil {
		return storage.Record{}, err
	}
	return s.Store.Load(ctx, name, known)
}

func (s slowStore) Save(ctx context.Context, name string, data []byte, old storage.Revision) (storage.Revision, error) {
	if err := s.wait(ctx); err != nil {
		return "", err
	}
	return s.Store.Save(ctx, name, data, old)
}

// A slow store holds up no caller that saves, one that loads for 2 seconds at most, and Close for as long.
func TestSharedIsSlow(t *testing.T) {
	for _, c := range []struct {
		takes, load time.Duration
		kept        bool
	}{
		{time.Second / 4, time.Second / 4, true},
		{time.Hour, 2 * time.Second, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			memory := storage.NewMemory()
			cache := catalog.Open("", slowStore{memory, c.takes})
			began := time.Now()
			lasts := func(what string, most time.Duration) {
				t.Helper()
				took := time.Since(began)
				assert.True(t, took <= most, "store of %v, %s: %v, at most %v", c.takes, what, took, most)
				began = time.Now()
			}
			cache.Load(t.Context(), entry("a"))
			lasts("Load", c.load)
			cache.Save(entry("a"), list("old"))
			cache.Save(entry("a"), list("good")) // the newest
			lasts("Save", 0)
			cache.Close()
			lasts("Close", 2*time.Second)
			want := ""
			if c.kept {
				want = "good"
			}
			expectTool(t, open(t, memory), entry("a"), want)
		})
	}
}

// Two hosts that write at one time leave what one of them has written.
func TestSharedByTwo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := storage.NewMemory()
		a, b := open(t, slowStore{memory, time.Second}), open(t, slowStore{memory, time.Second})
		a.Save(entry("a"), list("good"))
		b.Save(entry("a"), list("good"))
		<-time.After(time.Minute)
		expectTool(t, a, entry("a"), "good")
		expectTool(t, b, entry("a"), "good")
	})
}
