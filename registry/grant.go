package registry

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/mcpbelt/mcpbelt/internal/onbehalf"
	"github.com/mcpbelt/mcpbelt/internal/share"
)

// subjectOf returns what names the tool that an approval is about, see [ApprovalRequest].Subject. An approval
// is for this subject and no other, even if another one has the same name. It is made when it is first wanted.
func subjectOf(e *entry) string {
	if known := e.offer.subject.Load(); known != nil {
		return *known
	}
	d, surface, fingerprint, annotations := e.def, "", "", ""
	if e.surface != nil {
		surface = e.surface.Hash
	}
	if e.server != nil {
		fingerprint = e.server.Fingerprint
	}
	if d.Annotations != nil {
		annotations = string(annotationsJSON(d.Annotations))
	}
	h := sha256.New()
	for _, part := range []string{
		"mcpbelt approval subject 1", surface, fingerprint, fmt.Sprint(e.trusted(), d.ReturnDirect), d.Name, d.Alias,
		d.Origin.Server, d.Origin.Tool, d.Title, d.Description, string(d.InputSchema), string(d.OutputSchema), string(d.RawAnnotations), annotations,
	} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	s := hex.EncodeToString(h.Sum(nil))
	e.offer.subject.Store(&s)
	return s
}

// maxGrants is how many tools are allowed for sessions at one time. The one that was not used
// for the longest time is forgotten; a user that is named has a quarter of them at most.
const maxGrants = 10_000

// A grantKey is the user and the conversation that a tool is allowed for.
type grantKey struct {
	user, conversation string
	tool               string // its name in the catalogue
}

func grantOf(ctx context.Context, e *entry) grantKey {
	return grantKey{userOf(ctx), onbehalf.ConversationOf(ctx), e.def.Name}
}

// grants are the tools that are allowed for sessions. They need the lock of the
// approvals.
type grants struct {
	byKey map[grantKey]*list.Element // of *granted
	used  *list.List                 // the one that was used last comes first
	held  share.Book                 // how many there are, and each user has

	// forgotten grows when grants are taken back. A decision from before that is not
	// remembered after it.
	forgotten uint64
}

type granted struct {
	key     grantKey
	subject string
}

func newGrants(max int) *grants {
	return &grants{byKey: map[grantKey]*list.Element{}, used: list.New(), held: share.Book{Max: share.Amount{Count: max}}}
}

func (g *grants) add(key grantKey, subject string) {
	if at, ok := g.byKey[key]; ok {
		at.Value.(*granted).subject = subject
		g.used.MoveToFront(at)
		return
	}
	const quarter = 4
	user := share.Owner{User: key.user}
	g.byKey[key] = g.used.PushFront(&granted{key, subject})
	g.held.Add(user, 0)
	at := g.used.Back()
	switch {
	case g.held.Exceeds(user, quarter):
		for at.Value.(*granted).key.user != key.user {
			at = at.Prev()
		}
		g.remove(at)
	case g.held.Full():
		g.remove(at)
	}
}

func (g *grants) remove(at *list.Element) {
	key := g.used.Remove(at).(*granted).key
	delete(g.byKey, key)
	g.held.Remove(share.Owner{User: key.user}, 0)
}

// has reports whether there is a grant for this very tool. One for a tool that is
// not what it was is over.
func (g *grants) has(key grantKey, subject string) bool {
	at, ok := g.byKey[key]
	if !ok {
		return false
	}
	if at.Value.(*granted).subject != subject {
		g.remove(at)
		return false
	}
	g.used.MoveToFront(at)
	return true
}

// forget takes back the grants that are meant.
func (g *grants) forget(meant func(grantKey) bool) {
	g.forgotten++
	for key, at := range g.byKey {
		if meant(key) {
			g.remove(at)
		}
	}
}

// grant remembers that a tool is allowed, unless grants were taken back since the
// decision began: the one who took them back cannot have meant to spare this one.
func (a *approvals) grant(key grantKey, subject string, since uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.grants.forgotten == since {
		a.grants.add(key, subject)
	}
}

// granted reports whether a tool is allowed, and how often grants were taken back
// so far.
func (a *approvals) granted(key grantKey, subject string) (ok bool, forgotten uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.grants.has(key, subject), a.grants.forgotten
}

// EndConversation forgets what the user of ctx, as by session.WithUser, was asked
// and has allowed in the conversation of ctx (see [WithConversation]). The calls
// that wait are denied; one that runs goes on to its end. An agent that keeps its
// process calls it at the end of each conversation.
func (r *Registry) EndConversation(ctx context.Context) {
	r.mustBeMade()
	user, conversation := userOf(ctx), onbehalf.ConversationOf(ctx)
	r.approvals.endConversation(user, conversation)
}

// RevokeGrants takes back what the user of ctx, as by session.WithUser, has allowed for
// their sessions, in all conversations; if ctx names no user, what all users have. Later
// calls are asked for again. Calls that wait go on waiting.
func (r *Registry) RevokeGrants(ctx context.Context) {
	r.mustBeMade()
	user := userOf(ctx)
	a := r.approvals
	a.mu.Lock()
	defer a.mu.Unlock()
	a.grants.forget(func(key grantKey) bool { return user == "" || key.user == user })
}
