package skills

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/content"
	"github.com/mcpbelt/mcpbelt/internal/canonjson"
	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/internal/keylock"
	"github.com/mcpbelt/mcpbelt/internal/nearest"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry/gate"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
	"github.com/mcpbelt/mcpbelt/session"
)

// Options are the options of a [Catalogue]. Nil and the zero value mean the defaults.
type Options struct {
	// Folders hold the skills of the program itself: each folder in them, at any depth, that has
	// a SKILL.md. They are trusted as the program is. Links out of a folder are not followed.
	Folders []string
}

// A Catalogue is the skills of all servers of a host and of some folders. Make one with [New]. Its
// methods are safe for concurrent use. It has no goroutines and need not be closed.
type Catalogue struct {
	host    *host.Host
	content *content.Content
	ledger  *ledger.Ledger
	folders []string
	listing keylock.Set // by user: one list is read at a time

	mu   sync.Mutex        // guards the following
	kept map[string]listed // by user
}

// A listed is a list that was read.
type listed struct {
	skills []Skill
	at     time.Time
	state  string // of the servers at that time
}

const (
	// freshFor is how long a list is kept while no server says that something changed: the extension
	// has no notification of its own.
	freshFor = time.Minute
	maxKept  = 256 // lists
)

// A Skill is a skill of a server or of the program.
type Skill struct {
	// Skill has the name for models, and what the server says. Of a skill of the program Server and
	// Address are empty, and URI is that of its file.
	content.Skill
	// Held says why no model may load it before it is accepted, with what has changed since it was accepted
	// last; nil: it need not be, or is accepted.
	Held *ledger.Change
	// Err says why it can be neither loaded nor accepted: it is dynamic, or hides something. Nil: it can.
	Err error

	folder string // of a skill of the program
}

var errNoSkill = errors.New("skills: the skill is nil")

// AllowedTools returns the tools that the skill asks to use without a further question, as its front
// matter names them. The program decides what that is worth. It is empty for a skill of a server until it is accepted.
func (s *Skill) AllowedTools() string {
	if s.Held != nil || s.Err != nil {
		return ""
	}
	tools, _ := jsonscan.String(jsonscan.Member(s.Frontmatter, "allowed-tools"))
	return tools
}

// New returns the skills of the servers of h. The ledger of its registry keeps which were accepted; if there is none, the Catalogue
// remembers it.
func New(h *host.Host, opts *Options) *Catalogue {
	if h == nil {
		h = new(host.Host) // which says what it is
	}
	accepted := ledger.New(nil)
	if r := h.Registry(); r != nil {
		accepted = cmp.Or(r.Ledger(), accepted)
	}
	return &Catalogue{host: h, content: content.New(h), ledger: accepted, folders: slices.Clone(cmp.Or(opts, new(Options)).Folders), kept: map[string]listed{}}
}

// List returns all skills: those of the program first, then those of servers as [content.Content.Skills]
// lists them. What could not be read is among the errors, by server or folder. Opts name the servers, see
// [content.ListOptions].
func (c *Catalogue) List(ctx context.Context, opts *content.ListOptions) *content.Listing[Skill] {
	theirs := c.content.Skills(ctx, opts)
	_ = c.ledger.Reload(ctx) // what was accepted elsewhere counts at once
	l := &content.Listing[Skill]{Errors: theirs.Errors, NotAsked: theirs.NotAsked}
	own := map[string]string{}
	for _, folder := range c.folders {
		l.Items = append(l.Items, ownSkills(folder, own, l.Errors)...)
	}
	for i := range theirs.Items {
		l.Items = append(l.Items, *c.judged(Skill{Skill: theirs.Items[i]}))
	}
	return l
}

// Find returns a skill by its name, by its URI if no other skill has that, or by the address of its SKILL.md, see
// [content.Address], by which also skills are found that their server does not list. The error is an [*UnknownError]
// if there is none.
func (c *Catalogue) Find(ctx context.Context, name string) (*Skill, error) {
	if server, _, err := content.ParseAddress(name); err == nil {
		if _, err := c.host.Inspect(server); err == nil {
			s, err := c.content.GetSkill(ctx, name, nil)
			if err != nil {
				return nil, err
			}
			_ = c.ledger.Reload(ctx)
			return c.judged(Skill{Skill: *s}), nil
		}
	}
	var names []string
	for range 2 {
		var same []*Skill
		names = nil
		for _, s := range c.list(ctx) {
			switch {
			case s.Name == name:
				return s, nil
			case s.URI == name:
				same = append(same, s)
			}
			names = append(names, s.Name)
		}
		if len(same) == 1 {
			return same[0], nil
		}
		c.forget(ctx) // the list may be old
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return nil, &UnknownError{Name: name, Suggestions: nearest.Names(name, names, 3)}
}

// Read returns the bytes of a file of a skill, by its path below the folder of the skill. Those of a skill
// of a server come from that server, and are verified against the skill, for SKILL.md the
// front matter, too: what differs is an [*mcp.ProtocolError]. It is for people that look at a skill: models read what was accepted by
// [Catalogue.Tools].
func (c *Catalogue) Read(ctx context.Context, s *Skill, path string) ([]byte, error) {
	if s == nil {
		return nil, errNoSkill
	}
	if s.Server == "" {
		return readOwn(s, path)
	}
	var data []byte
	err := c.host.WithClient(ctx, session.Key{Server: s.Server}, func(ctx context.Context, client *mcp.Client) (err error) {
		data, err = client.ReadSkillFile(ctx, s.Skill.Skill, path, nil)
		return err
	})
	if err == nil && path == mcp.SkillFile {
		var front json.RawMessage
		if front, err = frontmatter(data); err == nil && !canonjson.Same(front, s.Frontmatter) {
			err = errors.New("its front matter is not that which the server lists")
		}
		if err != nil {
			err = &mcp.ProtocolError{Server: s.Server, Method: "resources/read", Path: s.URI, Err: err}
		}
	}
	if err != nil {
		c.forget(ctx) // the list may be old
		return nil, err
	}
	return data, nil
}

// Accept lets models load a skill as it is now, and returns when that is kept. By says who did it.
// It is for what s says, all files included: show it before. A skill that is accepted already stays so.
func (c *Catalogue) Accept(ctx context.Context, by string, s *Skill) error {
	if s == nil {
		return errNoSkill
	}
	if s.Err != nil || s.Server == "" {
		return s.Err
	}
	server, surface := c.entry(s)
	if err := c.ledger.Record(ctx, server, []*ledger.Surface{surface}); err != nil {
		return err
	}
	if waits := c.ledger.Judge(server, surface); waits != nil {
		return c.ledger.Accept(ctx, by, *waits)
	}
	return nil
}

// judged returns the skill with what holds it back.
func (c *Catalogue) judged(s Skill) *Skill {
	if s.Server == "" {
		return &s
	}
	s.Held = c.ledger.Judge(c.entry(&s))
	switch {
	case s.Dynamic:
		s.Err = fmt.Errorf("skills: skill %s: its server makes it anew at each reading, so that it cannot be accepted", plain.Quote(s.Name))
	case len(s.Findings) > 0 && s.Findings[0].Severity == gate.Block:
		s.Err = fmt.Errorf("skills: skill %s: %s", plain.Quote(s.Name), s.Findings[0])
	}
	return &s
}

// entry returns what the ledger knows the skill of a server by. The name is none that a server can have.
func (c *Catalogue) entry(s *Skill) (ledger.Server, *ledger.Surface) {
	server := ledger.Server{Name: s.Server + "/skills", Mode: ledger.Review}
	if i, err := c.host.Inspect(s.Server); err == nil {
		server.Place = i.Entry.Source.ProjectFolder()
	}
	files := map[string]string{}
	for _, f := range s.Files {
		files[strings.TrimPrefix(f.URI, s.Root()+"/")] = f.Digest
	}
	manifest, _ := json.Marshal(map[string]any{"files": files, "frontmatter": s.Frontmatter}) // which was read as JSON
	return server, ledger.NewManifest(s.URI, manifest)
}

// list returns the skills as they were listed, at most a minute ago, for the user of ctx. They are judged anew.
func (c *Catalogue) list(ctx context.Context) []*Skill {
	user, _ := session.UserOf(ctx)
	var state strings.Builder
	for _, s := range c.host.Servers() {
		fmt.Fprintln(&state, s.Name, s.Stage, s.State.Phase, s.State.Connections, s.State.ResourcesVersion)
	}
	unlock, err := c.listing.Lock(ctx, user)
	if err != nil {
		return nil
	}
	defer unlock()
	c.mu.Lock()
	kept := c.kept[user]
	c.mu.Unlock()
	if kept.state != state.String() || time.Since(kept.at) > freshFor {
		kept = listed{c.List(ctx, nil).Items, time.Now(), state.String()}
		c.mu.Lock()
		if len(c.kept) >= maxKept {
			clear(c.kept)
		}
		if ctx.Err() == nil { // else it lacks some
			c.kept[user] = kept
		}
		c.mu.Unlock()
	}
	_ = c.ledger.Reload(ctx)
	all := make([]*Skill, len(kept.skills))
	for i, s := range kept.skills {
		all[i] = c.judged(s)
	}
	return all
}

// forget makes the next list be read anew.
func (c *Catalogue) forget(ctx context.Context) {
	user, _ := session.UserOf(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.kept, user)
}

// An UnknownError reports a name of no skill.
//
//cure:take a name of Catalogue.List; the text proposes the nearest
type UnknownError struct {
	Name        string   // what was asked for
	Suggestions []string // up to three names that may have been meant, the nearest first
}

// Error names the skill, and those that may have been meant.
func (e *UnknownError) Error() string {
	text := "skills: there is no skill " + plain.Quote(e.Name)
	if len(e.Suggestions) > 0 {
		text += "; did you mean " + strings.Join(e.Suggestions, ", ") + "?"
	}
	return text
}

// A HeldError reports a skill of a server that no model gets before a person has accepted it as it is now.
//
//cure:look at it, then accept it: Catalogue.Accept, or mcpbelt skills accept
type HeldError struct {
	Name   string         // of the skill
	Change *ledger.Change // what waits
}

// Error names the skill and what has changed.
func (e *HeldError) Error() string {
	why := "it has not been accepted yet"
	switch e.Change.Kind {
	case ledger.ToolChanged:
		why = "it has changed since it was accepted"
	case ledger.ToolRejected:
		why = "it was rejected"
	}
	return fmt.Sprintf("skills: skill %s is held back: %s. %sThe user can look at it and accept it: mcpbelt skills accept %s", plain.Quote(e.Name), why, e.Change.Summary(), e.Name)
}
