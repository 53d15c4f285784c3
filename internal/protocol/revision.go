package protocol

import (
	"slices"
)

// Revisions of the protocol.
const (
	Revision20241105 = "2024-11-05"
	Revision20250326 = "2025-03-26"
	Revision20250618 = "2025-06-18"
	Revision20251125 = "2025-11-25"
	Revision20260728 = "2026-07-28"
)

// A Revision says how one revision of the protocol differs from others. No other package compares
// revisions: a new one is a line of the table below, see docs/design/revision.md.
type Revision struct {
	Version string // such as "2025-11-25"; empty: the revision is not known

	Stateless         bool // there is server/discover in the place of initialize, and each request describes its client
	Batches           bool // messages may come in a JSON array
	Completions       bool // a server that completes declares it
	StructuredContent bool // results fit the output schemas of their tools
	CoreTasks         bool // tasks are a capability, and no extension
	ShortEvents       bool // an answer that is short comes as an event where the client takes events
	Polling           bool // a stream of events may end before the answer, and is resumed
}

// revisions are those that are spoken, the newest first.
var revisions = []Revision{
	{Version: Revision20260728, Stateless: true, Completions: true, StructuredContent: true, ShortEvents: true},
	{Version: Revision20251125, Completions: true, StructuredContent: true, CoreTasks: true, ShortEvents: true, Polling: true},
	{Version: Revision20250618, Completions: true, StructuredContent: true},
	{Version: Revision20250326, Completions: true, Batches: true},
	{Version: Revision20241105},
}

// RevisionOf returns the revision of a version, or the zero value for one that is not known.
func RevisionOf(version string) Revision {
	for _, r := range revisions {
		if r.Version == version {
			return r
		}
	}
	return Revision{}
}

// IsKnown reports whether a version is one of those that are spoken.
func IsKnown(version string) bool { return RevisionOf(version).Version != "" }

// IsStateless reports whether a version is of a stateless revision, known or newer.
func IsStateless(version string) bool { return version >= Revision20260728 }

// Versions returns the versions that are spoken, the newest first.
func Versions() []string { return versionsWhere(func(*Revision) bool { return true }) }

// SessionVersions returns those of them that begin with initialize.
func SessionVersions() []string { return versionsWhere(func(r *Revision) bool { return !r.Stateless }) }

func versionsWhere(wanted func(*Revision) bool) (versions []string) {
	for i := range revisions {
		if wanted(&revisions[i]) {
			versions = append(versions, revisions[i].Version)
		}
	}
	return versions
}

// Newest returns the newest version, which is stateless.
func Newest() string { return revisions[0].Version }

// NewestSession returns the newest version that begins with initialize.
func NewestSession() string { return SessionVersions()[0] }

// NewestStateless returns the newest stateless version that is spoken and in a list, or "".
func NewestStateless(offered []string) string {
	for _, r := range revisions {
		if r.Stateless && slices.Contains(offered, r.Version) {
			return r.Version
		}
	}
	return ""
}

// Add adds a revision that is newer than all others, until remove is called: for the test that one more
// can be spoken. Nothing else may run meanwhile.
func Add(r Revision) (remove func()) {
	before := revisions
	revisions = slices.Concat([]Revision{r}, before)
	return func() { revisions = before }
}
