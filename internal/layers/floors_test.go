package layers

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

// A wing is the half of the house that a package stands in.
type wing string

const (
	hall  wing = "hall"      // between the wings; opens neither
	who   wing = "WHO wing"  // identity: who is logged in where
	what  wing = "WHAT wing" // tools: how to reach them, what they are called
	joint wing = "joint"     // opens both wings
)

const roof = 6

// A room gives a package, or with "/..." a package and all below it, its place.
type room struct {
	path  string
	floor int
	wing  wing
	kit   bool // a test kit: stands just above its own floor
}

// house is the table of all places. Every import of production code points to
// a lower floor. Put a new package where it may be imported by those who need
// it, as low as it can be.
var rooms = []room{
	{path: "internal/...", floor: 0, wing: hall},
	{path: "internal/assert", floor: 0, wing: hall, kit: true},
	{path: "internal/document", floor: 2, wing: hall},
	{path: "internal/toolcorpus", floor: 0, wing: hall, kit: true},
	{path: "internal/skilltest", floor: 1, wing: hall, kit: true},
	{path: "internal/deadport", floor: 0, wing: hall, kit: true},
	{path: "mcp", floor: 1, wing: hall},
	{path: "mcp/mcptest", floor: 1, wing: hall, kit: true},
	{path: "mcp/ask", floor: 2, wing: hall},
	{path: "mcp/internal/...", floor: 0, wing: hall},
	{path: "storage", floor: 1, wing: hall},
	{path: "storage/storagetest", floor: 1, wing: hall, kit: true},
	{path: "internal/pgtest", floor: 0, wing: hall, kit: true},
	{path: "mcp/cassette", floor: 2, wing: hall},
	{path: "mcp/failure", floor: 1, wing: hall},
	{path: "mcp/form", floor: 1, wing: hall},

	{path: "auth", floor: 2, wing: who},
	{path: "auth/authtest", floor: 2, wing: who, kit: true},
	{path: "transport", floor: 2, wing: what},
	{path: "transport/transporttest", floor: 2, wing: what, kit: true},

	{path: "session", floor: 3, wing: who},
	{path: "session/filestore", floor: 3, wing: who},
	{path: "session/seal", floor: 3, wing: who},
	{path: "session/keyringstore", floor: 3, wing: who},
	{path: "registry", floor: 3, wing: what},
	{path: "registry/internal/infer", floor: 2, wing: what},
	{path: "registry/approval", floor: 3, wing: what},
	{path: "registry/codemode/...", floor: 3, wing: what},
	{path: "registry/codemode/example", floor: roof, wing: joint},
	{path: "registry/gate", floor: 3, wing: what},
	{path: "registry/ledger", floor: 3, wing: what},
	{path: "registry/names", floor: 3, wing: what},
	{path: "registry/policy", floor: 3, wing: what},
	{path: "registry/profile", floor: 3, wing: what},
	{path: "registry/rest", floor: 3, wing: what},
	{path: "registry/result", floor: 3, wing: what},
	{path: "registry/rest/openapi", floor: 3, wing: what},
	{path: "registry/toolset", floor: 3, wing: what},

	{path: "host/config", floor: 4, wing: hall},
	{path: "host/config/codex", floor: 4, wing: hall},
	{path: "host/config/edit", floor: 4, wing: hall},
	{path: "host/config/goose", floor: 4, wing: hall},
	{path: "host/record", floor: 4, wing: hall},
	{path: "host/access", floor: 4, wing: hall},
	{path: "host/access/oidc", floor: 4, wing: hall},
	{path: "host/activity", floor: 4, wing: hall},
	{path: "host/activity/event", floor: 4, wing: hall},
	{path: "host/consent", floor: 4, wing: hall},
	{path: "host/docker", floor: 4, wing: what},
	{path: "host/landlock", floor: 4, wing: joint},
	{path: "host/login", floor: 4, wing: who},
	{path: "host", floor: 4, wing: joint},
	{path: "host/internal/catalog", floor: 4, wing: joint},
	{path: "host/internal/eventlog", floor: 4, wing: hall},
	{path: "host/internal/events", floor: 4, wing: joint},
	{path: "host/internal/launch", floor: 4, wing: joint},
	{path: "host/internal/lifecycle", floor: 4, wing: joint},

	{path: "host/apps", floor: 5, wing: joint},
	{path: "host/content", floor: 5, wing: joint},
	{path: "host/doctor", floor: 5, wing: joint},
	{path: "host/skills", floor: 5, wing: joint},
	{path: "host/manage", floor: 5, wing: joint},
	{path: "internal/hosttest", floor: 5, wing: joint, kit: true},
	{path: "internal/wildtest", floor: 3, wing: what, kit: true},
	{path: "host/gateway", floor: 5, wing: joint},
	{path: "host/gateway/internal/clients", floor: 0, wing: hall},
	{path: "host/gateway/internal/filter", floor: 5, wing: joint},
	{path: "host/gateway/internal/listing", floor: 0, wing: hall},
	{path: "host/gateway/internal/message", floor: 2, wing: hall},
	{path: "host/gateway/internal/modes", floor: 1, wing: hall},
	{path: "host/gateway/internal/metatools", floor: 5, wing: joint},
	{path: "host/gateway/internal/pages", floor: 5, wing: joint},
	{path: "host/gateway/internal/quota", floor: 0, wing: hall},
	{path: "host/gateway/internal/stream", floor: 3, wing: hall},
	{path: "host/admin", floor: 5, wing: joint},
	{path: "host/replica", floor: 5, wing: joint},
	{path: "host/admin/page", floor: 5, wing: hall},
	{path: "sqlstore", floor: 5, wing: joint},
	{path: "sqlstore/example", floor: roof, wing: joint},

	{path: "cmd/...", floor: roof, wing: joint},
	{path: "examples/...", floor: roof, wing: joint},
	{path: "adapters/...", floor: roof, wing: joint},
	{path: "internal/adaptertest", floor: roof, wing: joint, kit: true},
	{path: "bench/...", floor: roof, wing: joint},
	{path: "internal/conformance/...", floor: roof, wing: joint},
	{path: "internal/integration/chromium", floor: 1, wing: hall, kit: true},
	{path: "internal/integration/...", floor: roof, wing: joint},
}

// sideways lists the imports between packages of one floor, importer first, each
// with its reason. A package imports its own children without one.
var sideways = map[[2]string]string{
	{"internal/atomicfile", "internal/feed"}:                                 "it waits as that does",
	{"internal/canonjson", "internal/jsonscan"}:                              "it writes what the scan has checked",
	{"internal/changed", "internal/modulelist"}:                              "it looks at the modules of the list",
	{"internal/jsonc", "internal/canonjson"}:                                 "it writes texts and compares numbers as that does",
	{"internal/jsonedit", "internal/canonjson"}:                              "it writes texts as that does",
	{"internal/mask", "internal/canonjson"}:                                  "it writes JSON as that does",
	{"internal/schemagate", "internal/canonjson"}:                            "it writes JSON as that does",
	{"internal/jsonedit", "internal/dialect"}:                                "it makes the changes of each kind of config file",
	{"internal/jsonedit", "internal/jsonc"}:                                  "it changes that tree",
	{"internal/yamljson", "internal/jsonc"}:                                  "every kind of config file becomes that tree",
	{"internal/yamljson", "internal/plain"}:                                  "errors quote text of others",
	{"internal/dialect", "internal/nearest"}:                                 "it tells a slip from another word",
	{"internal/dialect", "internal/jsonc"}:                                   "every kind of config file becomes that tree",
	{"internal/mask", "internal/dialect"}:                                    "references have the form that it knows",
	{"internal/ownfile", "internal/atomicfile"}:                              "it reads a file as that does",
	{"internal/redact", "internal/canonjson"}:                                "it writes texts as that does",
	{"internal/redact", "internal/jsonscan"}:                                 "it reads what the scan has checked",
	{"internal/mask", "internal/redact"}:                                     "it finds what has the form of a secret",
	{"internal/inflight", "internal/jsonscan"}:                               "it matches the answers that the scan found",
	{"internal/schemagate", "internal/jsonscan"}:                             "it reads what the scan has checked",
	{"internal/toolbrief", "internal/jsonscan"}:                              "it reads what the scan has checked",
	{"internal/toolbrief", "internal/plain"}:                                 "what it quotes is a server's",
	{"internal/guardhttp", "internal/httpfield"}:                             "it says how long to wait",
	{"internal/paramheader", "internal/httpfield"}:                           "it says what may stand in a field",
	{"internal/paramheader", "internal/jsonscan"}:                            "it reads what the scan has checked",
	{"host/gateway", "host/content"}:                                         "it serves what that lists",
	{"host/gateway", "host/skills"}:                                          "it serves the skills of all servers",
	{"host/admin", "host/apps"}:                                              "a tool that is tried shows its app",
	{"host/admin/page", "host/apps"}:                                         "its page has the module that shows apps",
	{"host/skills", "host/content"}:                                          "skills are named and listed as resources are",
	{"host/gateway", "host/manage"}:                                          "its options name what changes servers",
	{"host/gateway/internal/metatools", "host/manage"}:                       "upstream_servers changes records",
	{"internal/toolrank", "internal/bm25"}:                                   "its words are those of the index",
	{"internal/toolrank", "internal/jsonscan"}:                               "it reads what the scan has checked",
	{"internal/schemagate", "internal/plain"}:                                "what it quotes of a schema is shown to people",
	{"internal/schemagate", "internal/lru"}:                                  "it keeps the schemas that were used last",
	{"internal/bm25", "internal/nearest"}:                                    "it counts slips as all do",
	{"internal/bm25", "internal/textguard"}:                                  "accents do not count, as there",
	{"mcp/failure", "mcp"}:                                                   "it tells the errors of the client apart",
	{"host/config", "host/consent"}:                                          "an entry says what its launch is",
	{"host/access/oidc", "host/access"}:                                      "its tokens let callers in",
	{"host/record", "host/config"}:                                           "a record is an entry as written",
	{"host/config/edit", "host/config"}:                                      "it changes the files that are read there",
	{"host/config/edit", "host/consent"}:                                     "an import says what its launches are",
	{"host/config/edit", "host/record"}:                                      "what it writes into a file is a record",
	{"host/config/codex", "host/config"}:                                     "it is a format of config files",
	{"host/config/goose", "host/config"}:                                     "it is a format of config files",
	{"host/docker", "host/config"}:                                           "it reads what the entry wants",
	{"host/activity", "host/internal/eventlog"}:                              "a log tells its sinks that it writes",
	{"host/internal/eventlog", "host/activity/event"}:                        "its log keeps events",
	{"host/internal/events", "host/internal/eventlog"}:                       "it records in such a log",
	{"host/internal/events", "host/activity/event"}:                          "it makes the events of that log",
	{"host/internal/events", "host/config"}:                                  "events are about entries",
	{"host/internal/catalog", "host/config"}:                                 "a catalogue is named by the entry",
	{"host/internal/launch", "host/config"}:                                  "it makes what the entry says",
	{"host/internal/launch", "host/consent"}:                                 "a launch is what has to be allowed",
	{"host/landlock", "host"}:                                                "it is an isolator of a host",
	{"host/landlock", "host/config"}:                                         "it reads what the entry wants",
	{"host/login", "host/config"}:                                            "it reads how to log in at a server",
	{"session/filestore", "session/seal"}:                                    "Open returns a *seal.Store",
	{"session/keyringstore", "session/seal"}:                                 "Key is a seal.KeySource",
	{"registry/codemode", "registry"}:                                        "it is a tool made of the registry's tools",
	{"registry/gate", "registry/ledger"}:                                     "both look at what a server says of a tool",
	{"registry/policy", "registry"}:                                          "it is an approver of a registry",
	{"registry/policy", "registry/approval"}:                                 "its rules have verdicts",
	{"registry/profile", "registry"}:                                         "it shapes the registry's definitions",
	{"registry/profile", "registry/result"}:                                  "it gives providers the blocks of a result",
	{"registry/profile", "registry/toolset"}:                                 "it shapes the tools that a model is told of",
	{"registry/rest", "registry"}:                                            "its endpoints are tools of a registry",
	{"registry/rest", "registry/approval"}:                                   "a tool that is switched off is denied",
	{"registry/rest/openapi", "registry/rest"}:                               "it reads documents into an API",
	{"registry/toolset", "registry/approval"}:                                "it leaves out what is denied",
	{"registry/toolset", "registry"}:                                         "it finds tools of a registry",
	{"registry/toolset", "registry/names"}:                                   "it knows a name that the registry made",
	{"registry/toolset", "registry/result"}:                                  "it reads results, and knows the tool read_result",
	{"registry/rest/openapi", "registry"}:                                    "its tools are annotated like others",
	{"registry/codemode", "registry/approval"}:                               "a script waits for the person who is asked",
	{"registry/codemode/internal/child", "registry/codemode/internal/plain"}: "its messages are cut",
	{"registry/codemode", "registry/ledger"}:                                 "it remembers which scripts were accepted",
	{"registry/codemode", "registry/result"}:                                 "it gives scripts what a result says",
	{"registry/codemode", "registry/toolset"}:                                "scripts find tools by it",
	{"host/admin", "host/doctor"}:                                            "it tries servers out and tells how they do",
	{"host/admin", "host/manage"}:                                            "it is the way to that from a browser",
	{"host/admin", "host/replica"}:                                           "it shows the calls that wait on all replicas",
}

// players lists the programs that play the other side by a test kit, program
// first, each with its reason.
var players = map[[2]string]string{
	{"examples/login", "auth/authtest"}:     "it logs in offline, too",
	{"bench/search", "internal/toolcorpus"}: "it measures on the same tools as the tests",
}

// roomOf finds the most exact entry for a folder.
func roomOf(folder string) (room, bool) {
	var best room
	for _, r := range rooms {
		prefix, open := strings.CutSuffix(r.path, "/...")
		fits := folder == prefix || open && strings.HasPrefix(folder, prefix+"/")
		if fits && len(r.path) > len(best.path) {
			best = r
		}
	}
	return best, best.path != ""
}

// why returns the reason against an import of one package by another; empty if
// there is none.
func why(fromFolder string, from room, toFolder string, to room) string {
	below := to.floor < from.floor || to.floor == from.floor && from.kit && !to.kit
	switch {
	case to.kit && !from.kit && players[[2]string{fromFolder, toFolder}] == "":
		return "a test kit is for tests and other kits"
	case !below && !besides(fromFolder, from, toFolder, to):
		return fmt.Sprintf("imports point strictly down, not from floor %d to floor %d", from.floor, to.floor)
	case (to.wing == who || to.wing == what) && from.wing != to.wing && from.wing != joint:
		return fmt.Sprintf("the %s does not open the %s, only host joins the wings", from.wing, to.wing)
	}
	return ""
}

// besides reports whether a package may import one of its own floor: a child, or
// what sideways lists. A brick, and a program on the roof, may be made of several
// packages.
func besides(fromFolder string, from room, toFolder string, to room) bool {
	if from.floor != to.floor {
		return false
	}
	if _, ok := sideways[[2]string{fromFolder, toFolder}]; ok {
		return true
	}
	return strings.HasPrefix(toFolder, fromFolder+"/") ||
		(from.floor == 0 || from.floor == roof) && unit(fromFolder) == unit(toFolder)
}

// unit returns the first two elements of a folder: one brick, one program.
func unit(folder string) string {
	parts := strings.SplitN(folder, "/", 3)
	return strings.Join(parts[:min(2, len(parts))], "/")
}

// forTests reports whether an import from outside the module belongs in tests.
func forTests(path string) bool {
	return path == "testing" || strings.HasPrefix(path, "testing/") || path == "net/http/httptest"
}

func checkFloors(tr *tree) []string {
	const cure = "give it one in internal/layers/floors_test.go"
	var problems []string
	for _, p := range tr.sorted() {
		from, ok := roomOf(p.folder)
		if !ok {
			problems = append(problems, fmt.Sprintf("package %s has no floor: %s", p.folder, cure))
			continue
		}
		for _, f := range p.production() {
			for _, spec := range f.ast.Imports {
				path := importPath(spec)
				reason := ""
				folder, ours := strings.CutPrefix(path, module+"/")
				switch {
				case path == "go.uber.org/goleak" || strings.HasPrefix(path, "go.uber.org/goleak/"):
					reason = "it is for tests only"
				case forTests(path) && !from.kit:
					reason = "it is for tests and test kits"
				case ours:
					to, ok := roomOf(folder)
					if !ok {
						reason = "that package has no floor: " + cure
					} else {
						reason = why(p.folder, from, folder, to)
					}
				}
				if reason != "" {
					problems = append(problems, fmt.Sprintf("%s%s imports %s: %s", tr.at(spec.Pos()), p.folder, path, reason))
				}
			}
		}
	}
	return problems
}

func TestImportsPointDown(t *testing.T) { report(t, checkFloors(repository(t))) }

func TestRooms(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range rooms {
		assert.False(t, seen[r.path], "%s has two places", r.path)
		seen[r.path] = true
	}
	for pair, reason := range sideways {
		from, ok1 := roomOf(pair[0])
		to, ok2 := roomOf(pair[1])
		assert.True(t, ok1 && ok2 && from.floor == to.floor && reason != "", "sideways %v: two packages of one floor and a reason", pair)
		_, both := sideways[[2]string{pair[1], pair[0]}]
		assert.False(t, both, "sideways %v is listed in both directions", pair)
	}
}

func TestFloorsSeeProblems(t *testing.T) {
	src := func(name string, imports ...string) string {
		text := "package " + name + "\n"
		for _, i := range imports {
			text += fmt.Sprintf("import _ %q\n", i)
		}
		return text
	}
	tr := sketch(t, map[string]string{
		"internal/a/a.go":               src("a", module+"/internal/a/b", module+"/internal/c", module+"/mcp"),
		"mcp/mcp.go":                    src("mcp", module+"/internal/a", "testing", module+"/mcp/mcptest"),
		"mcp/mcp_test.go":               src("mcp_test", module+"/transport", "testing", module+"/mcp/mcptest"),
		"mcp/mcptest/kit.go":            src("mcptest", module+"/mcp", "testing", "go.uber.org/goleak"),
		"transport/transport.go":        src("transport", module+"/mcp", module+"/auth", module+"/nowhere"),
		"transport/transporttest/t.go":  src("transporttest", module+"/mcp/mcptest", module+"/transport", module+"/auth/authtest"),
		"registry/registry.go":          src("registry", module+"/auth", module+"/transport"),
		"session/session.go":            src("session", module+"/storage", module+"/session/seal", module+"/transport", "net/http/httptest"),
		"host/host.go":                  src("host", module+"/host/config", module+"/session", module+"/registry", module+"/host/admin"),
		"host/config/config.go":         src("config", module+"/host", module+"/internal/a", module+"/registry"),
		"cmd/mcpbelt/main.go":           src("main", module+"/cmd/mcpbelt/flags", module+"/host/admin", module+"/cmd/other"),
		"internal/conformance/c/c.go":   src("main", module+"/transport", module+"/internal/a", module+"/auth"),
		"session/seal/seal.go":          src("seal", module+"/session"),
		"surprise/surprise.go":          src("surprise"),
		"registry/codemode/codemode.go": src("codemode", module+"/registry"),
	})
	expect(t, checkFloors(tr),
		"internal/a/a.go:3: internal/a imports "+module+"/internal/c: imports point strictly down, not from floor 0 to floor 0",
		"internal/a/a.go:4: internal/a imports "+module+"/mcp: imports point strictly down, not from floor 0 to floor 1",
		"mcp/mcp.go:3: mcp imports testing: it is for tests and test kits",
		"mcp/mcp.go:4: mcp imports "+module+"/mcp/mcptest: a test kit is for tests and other kits",
		"mcp/mcptest/kit.go:4: mcp/mcptest imports go.uber.org/goleak: it is for tests only",
		"transport/transport.go:3: transport imports "+module+"/auth: imports point strictly down, not from floor 2 to floor 2",
		"transport/transport.go:4: transport imports "+module+"/nowhere: that package has no floor: give it one in internal/layers/floors_test.go",
		"transport/transporttest/t.go:4: transport/transporttest imports "+module+"/auth/authtest: imports point strictly down, not from floor 2 to floor 2",
		"registry/registry.go:2: registry imports "+module+"/auth: the WHAT wing does not open the WHO wing, only host joins the wings",
		"session/session.go:4: session imports "+module+"/transport: the WHO wing does not open the WHAT wing, only host joins the wings",
		"session/session.go:5: session imports net/http/httptest: it is for tests and test kits",
		"session/seal/seal.go:2: session/seal imports "+module+"/session: imports point strictly down, not from floor 3 to floor 3",
		"host/host.go:5: host imports "+module+"/host/admin: imports point strictly down, not from floor 4 to floor 5",
		"host/config/config.go:2: host/config imports "+module+"/host: imports point strictly down, not from floor 4 to floor 4",
		"host/config/config.go:4: host/config imports "+module+"/registry: the hall does not open the WHAT wing, only host joins the wings",
		"cmd/mcpbelt/main.go:4: cmd/mcpbelt imports "+module+"/cmd/other: imports point strictly down, not from floor 6 to floor 6",
		"package surprise has no floor: give it one in internal/layers/floors_test.go",
	)
}
