package registry_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry"
)

func TestReplace(t *testing.T) {
	r := registry.New(nil)
	mustAdd(t, r, native("notes__taken"))
	diff := mustReplace(t, r, "notes", serverTool("notes", "b", ""), serverTool("notes", "a", ""), serverTool("notes", "c", ""))
	if want := (registry.Diff{Added: []string{"notes__a", "notes__b", "notes__c"}}); !reflect.DeepEqual(diff, want) {
		t.Errorf("first diff = %+v, want %+v", diff, want)
	}

	broken := serverTool("notes", "broken", "")
	broken.def.InputSchema = json.RawMessage("{")
	nameless := serverTool("notes", "", "")
	nameless.def.Name = ""
	first := serverTool("notes", "d", "first")
	diff = mustReplace(t, r, "notes",
		serverTool("notes", "taken", ""), first, serverTool("notes", "d", "second"), broken, nameless,
		serverTool("notes", "b", "changed"), serverTool("notes", "c", ""))
	if !slices.Equal(diff.Added, []string{"notes__d"}) || !slices.Equal(diff.Removed, []string{"notes__a"}) || !slices.Equal(diff.Changed, []string{"notes__b"}) {
		t.Errorf("second diff = %+v", diff)
	}
	var rejected []string
	for _, rejection := range diff.Rejected {
		rejected = append(rejected, rejection.Name+": "+rejection.Err.Error())
	}
	if want := []string{
		`: registry: Name is empty`,
		`notes__broken: registry: tool "notes__broken": InputSchema is not a JSON object`,
		`notes__d: registry: the name "notes__d" for tool "d" of server "notes" is taken by tool "d" of server "notes"; rename one of them`,
		`notes__taken: registry: the name "notes__taken" for tool "taken" of server "notes" is taken by a native tool; rename one of them`,
	}; !slices.Equal(rejected, want) {
		t.Errorf("rejected\n got %q\nwant %q", rejected, want)
	}
	s := r.Snapshot()
	if got := listedNames(s); !slices.Equal(got, []string{"notes__b", "notes__c", "notes__d", "notes__taken"}) {
		t.Errorf("tools = %q", got)
	}
	if got, _ := s.Lookup("notes__d"); got != first {
		t.Error("of two tools of one name, the second is listed")
	}

	// The way is free, but a rejected tool comes only with the next Replace.
	r.Remove("notes__taken")
	if _, ok := r.Snapshot().Lookup("notes__taken"); ok {
		t.Error("a rejected tool appeared by itself")
	}
	diff = mustReplace(t, r, "notes", serverTool("notes", "taken", ""), first)
	if !slices.Equal(diff.Added, []string{"notes__taken"}) {
		t.Errorf("third diff = %+v", diff)
	}

	diff = mustReplace(t, r, "notes")
	if !slices.Equal(diff.Removed, []string{"notes__d", "notes__taken"}) || len(r.Snapshot().Tools()) != 0 {
		t.Errorf("last diff = %+v, tools %q", diff, listedNames(r.Snapshot()))
	}
}

// The tools of a reconnected server are described as before but call another
// client: they must be in place although nothing is published.
func TestReplaceWithTheSameDefinitions(t *testing.T) {
	r := registry.New(nil)
	old := serverTool("s", "a", "")
	old.def.Annotations = &mcp.ToolAnnotations{OpenWorldHint: ptr(false)}
	mustReplace(t, r, "s", old)
	before := r.Snapshot()

	renewed := serverTool("s", "a", "")
	renewed.def.Annotations = &mcp.ToolAnnotations{OpenWorldHint: ptr(false)}
	renewed.answer = textResult("renewed")
	if diff := mustReplace(t, r, "s", renewed); !reflect.DeepEqual(diff, registry.Diff{}) {
		t.Errorf("diff = %+v, want none", diff)
	}
	if v := r.Snapshot().Version(); v != before.Version() {
		t.Errorf("version = %d, want %d still", v, before.Version())
	}
	if res, err := r.Call(t.Context(), "s__a", nil); err != nil || textOf(t, res) != "renewed" {
		t.Errorf("Call = %v, %v; want the new tool's answer", res, err)
	}
	if got, _ := r.Snapshot().Lookup("s__a"); got != renewed {
		t.Error("the snapshot lists the old tool")
	}
	if got, _ := before.Lookup("s__a"); got != old {
		t.Error("an older snapshot changed")
	}
}

func TestReplaceNoticesEachField(t *testing.T) {
	for what, edit := range map[string]func(*registry.Definition){
		"title":         func(d *registry.Definition) { d.Title = "x" },
		"description":   func(d *registry.Definition) { d.Description = "x" },
		"input schema":  func(d *registry.Definition) { d.InputSchema = json.RawMessage(`{"type": "object"}`) },
		"output schema": func(d *registry.Definition) { d.OutputSchema = json.RawMessage(`{}`) },
		"annotations":   func(d *registry.Definition) { d.Annotations = &mcp.ToolAnnotations{} },
		"origin":        func(d *registry.Definition) { d.Origin.Tool = "x" },
	} {
		r := registry.New(nil)
		mustReplace(t, r, "s", serverTool("s", "a", ""))
		changed := serverTool("s", "a", "")
		edit(changed.def)
		diff := mustReplace(t, r, "s", changed)
		if !slices.Equal(diff.Changed, []string{"s__a"}) || r.Snapshot().Version() != 3 {
			t.Errorf("%s: diff = %+v, version %d", what, diff, r.Snapshot().Version())
		}
	}
}

func TestReplaceRefusesForeignTools(t *testing.T) {
	r := registry.New(nil)
	mustReplace(t, r, "s", serverTool("s", "a", ""))
	before := r.Snapshot()
	for what, tool := range map[string]registry.Tool{
		"Origin.Server": serverTool("other", "x", ""),
		"nil":           nil,
		"no definition": &plainTool{},
	} {
		diff, err := r.Replace(registry.Server{Name: "s"}, []registry.Tool{serverTool("s", "b", ""), tool})
		var bad *registry.DefinitionError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), what) || !reflect.DeepEqual(diff, registry.Diff{}) {
			t.Errorf("Replace = %+v, %v; want a DefinitionError about %s", diff, err, what)
		}
	}
	if r.Snapshot() != before {
		t.Error("a refused Replace changed the catalogue")
	}
}

func TestReplaceOfNativeTools(t *testing.T) {
	r := registry.New(nil)
	mustAdd(t, r, native("a"))
	mustReplace(t, r, "s", serverTool("s", "a", ""))
	if diff := mustReplace(t, r, "", native("b")); !slices.Equal(diff.Removed, []string{"a"}) || !slices.Equal(listedNames(r.Snapshot()), []string{"b", "s__a"}) {
		t.Errorf("diff = %+v, tools %q", diff, listedNames(r.Snapshot()))
	}
}

// Any sequence of replacements leaves what a simple model says, and each Diff
// turns the listing before into the listing after.
func TestReplaceAgainstAModel(t *testing.T) {
	servers := []string{"", "s", "t"}
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 0))
		r := registry.New(nil)
		model := map[string]registry.Tool{}
		for range 20 {
			server := servers[random.IntN(len(servers))]
			before, version := r.Snapshot(), r.Snapshot().Version()
			if random.IntN(5) == 0 {
				name := fmt.Sprint("n", random.IntN(8))
				r.Remove(name)
				delete(model, name)
				if len(r.Snapshot().Tools()) < len(before.Tools()) {
					version++
				}
				checkModel(t, seed, r, model, version)
				continue
			}
			var tools []registry.Tool
			for range random.IntN(6) {
				tool := serverTool("", fmt.Sprint("n", random.IntN(8)), fmt.Sprint(random.IntN(2)))
				tool.def.Origin.Server = server // names collide across servers
				tools = append(tools, tool)
			}
			maps.DeleteFunc(model, func(_ string, t registry.Tool) bool { return t.Definition().Origin.Server == server })
			refused := 0
			for _, tool := range tools {
				if name := tool.Definition().Name; model[name] != nil {
					refused++
				} else {
					model[name] = tool
				}
			}
			diff := mustReplace(t, r, server, tools...)
			if len(diff.Added)+len(diff.Removed)+len(diff.Changed) > 0 {
				version++
			}
			checkModel(t, seed, r, model, version)
			if len(diff.Rejected) != refused {
				t.Fatalf("seed %d: %d tools rejected, want %d", seed, len(diff.Rejected), refused)
			}
			checkDiff(t, seed, before, r.Snapshot(), diff)
		}
	}
}

func checkModel(t *testing.T, seed uint64, r *registry.Registry, model map[string]registry.Tool, version uint64) {
	t.Helper()
	s := r.Snapshot()
	if got, want := listedNames(s), slices.Sorted(maps.Keys(model)); !slices.Equal(got, want) {
		t.Fatalf("seed %d: tools = %q, want %q", seed, got, want)
	}
	for _, tool := range s.Tools() {
		if name := tool.Definition().Name; tool != model[name] {
			t.Fatalf("seed %d: %s is another tool", seed, name)
		}
	}
	if s.Version() != version {
		t.Fatalf("seed %d: version = %d, want %d", seed, s.Version(), version)
	}
}

func checkDiff(t *testing.T, seed uint64, before, after *registry.Snapshot, diff registry.Diff) {
	t.Helper()
	var want registry.Diff
	for _, name := range listedNames(after) {
		now, _ := after.Lookup(name)
		if was, ok := before.Lookup(name); !ok {
			want.Added = append(want.Added, name)
		} else if !reflect.DeepEqual(was.Definition(), now.Definition()) {
			want.Changed = append(want.Changed, name)
		}
	}
	for _, name := range listedNames(before) {
		if _, ok := after.Lookup(name); !ok {
			want.Removed = append(want.Removed, name)
		}
	}
	want.Rejected = diff.Rejected
	if !reflect.DeepEqual(diff, want) {
		t.Fatalf("seed %d: diff = %+v, want %+v", seed, diff, want)
	}
	if !slices.IsSortedFunc(diff.Rejected, func(a, b registry.Rejection) int { return strings.Compare(a.Name, b.Name) }) {
		t.Fatalf("seed %d: rejections are not sorted: %v", seed, diff.Rejected)
	}
}
