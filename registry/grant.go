package registry

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/mcpbelt/mcpbelt/internal/lru"
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
	if e.server != nil {
		surface, fingerprint = e.surface.Hash, e.server.Fingerprint
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

// maxGrants is how many tools are allowed for conversations at one time. The one that was not used
// for the longest time is forgotten; a user that is named has a quarter of them at most.
const maxGrants = 10_000

// A grantKey is the owner and the conversation that a tool is allowed for.
type grantKey struct {
	owner, conversation string
	tool                string // its name in the catalogue
}

func grantOf(ctx context.Context, e *entry) grantKey {
	return grantKey{onbehalf.Owner(ctx), onbehalf.ConversationOf(ctx), e.def.Name}
}

// grants are the tools that are allowed for conversations, each with the subject of the approval. They need
// the lock of the approvals.
type grants struct {
	subjects lru.Map[grantKey, string]
	held     share.Book // how many there are, and each user has

	// forgotten grows when grants are taken back. A decision from before that is not
	// remembered after it.
	forgotten uint64
}

func (g *grants) remove(key grantKey) {
	g.subjects.Delete(key)
	g.held.Remove(share.Owner{User: key.owner}, 0)
}

// forget takes back the grants whose keys match.
func (g *grants) forget(matches func(grantKey) bool) {
	g.forgotten++
	for key := range g.subjects.Oldest() {
		if matches(key) {
			g.remove(key)
		}
	}
}
