package adaptertest

import "testing"

// Test has an adapter pass all checks, and keeps what came of it.
func Test(t *testing.T, a Adapter) {
	results := map[string]string{}
	for _, c := range checks() {
		if reason, ok := a.Without[c.name]; ok {
			results[c.name] = reason
			continue
		}
		ok := t.Run(c.name, func(t *testing.T) { c.run(newKit(t, a)) })
		if results[c.name] = "yes"; !ok {
			results[c.name] = "no"
		}
	}
	record(t, a, results)
}
