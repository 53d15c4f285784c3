package registry

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// However servers come and go, a word stands for the first of those that have it.
func TestVocabularyFollowsServers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	v := newVocabulary()
	servers := map[string]map[string]struct{}{}
	for range 5_000 {
		server := fmt.Sprint("s", random.IntN(8))
		var names map[string]struct{}
		if random.IntN(4) > 0 {
			names = map[string]struct{}{}
			for range random.IntN(6) {
				names[fmt.Sprint("tool", random.IntN(10))] = struct{}{}
			}
			servers[server] = names
		} else {
			delete(servers, server)
		}
		v.set(server, names)

		want := map[string][]string{}
		for _, server := range slices.Sorted(maps.Keys(servers)) {
			for name := range servers[server] {
				want[name] = append(want[name], server)
			}
		}
		if !maps.EqualFunc(v.servers, want, slices.Equal) {
			t.Fatalf("got %v, want %v", v.servers, want)
		}
		if len(v.tools) != len(servers) {
			t.Fatalf("got %d servers, want %d", len(v.tools), len(servers))
		}
	}
}
