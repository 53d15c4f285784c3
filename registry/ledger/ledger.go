package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/mcpbelt/mcpbelt/internal/document"
	"github.com/mcpbelt/mcpbelt/internal/nils"
	"github.com/mcpbelt/mcpbelt/internal/plain"
	"github.com/mcpbelt/mcpbelt/storage"
)

// A Mode says what the ledger does about tools that are new or changed.
type Mode string

// The modes.
const (
	// Trust records what the server lists, and lets it be called, unless it was rejected.
	Trust Mode = "trust"
	// Pin is the default: the first list of a server is accepted, what is
	// new or changed later waits.
	Pin Mode = "pin"
	// Review lets nothing be called before it is accepted.
	Review Mode = "review"
)

func (m Mode) known() bool { return m == Trust || m == Pin || m == Review }

// Options are the options of a [Ledger]. Nil and the zero value mean the
// defaults.
type Options struct {
	// Mode is that of all servers whose [Server].Mode is empty. Empty: Pin.
	Mode Mode
	// Open opens the ledger that keeps the servers of a [Server].Place, such as that of a
	// project's folder. It is called when the ledger first hears of the place. While it fails
	// all of those servers is held back. Nil: this ledger keeps all servers.
	Open func(place string) (*Ledger, error)
}

// A Ledger remembers which tools of servers were accepted, by everything that a
// server says of them: name, title, description, schemas and annotations. It
// compares the instructions of servers, too. It belongs into the options of a registry,
// which asks it about each tool. Make
// one with [Open], [Load] or [New].
//
// The first list of tools that a server gives is accepted under [Pin]; one
// without tools does not count. A tool that the server has no more stays accepted
// as it was. Of each tool the ledger keeps what was accepted, what was rejected
// last and what was seen last, so a server cannot make it grow.
//
// A nil *Ledger remembers nothing: what reads answers empty, and what decides fails.
// All methods are safe for concurrent use, and several processes may share one
// file. A ledger has no goroutines and holds nothing open.
type Ledger struct {
	mode  Mode
	store document.Keeper // nil: memory
	name  string          // of the record in the store
	file  string          // for errors; empty if it is none

	view    atomic.Pointer[ledgerView]
	trouble atomic.Pointer[error] // why nothing is kept

	places places  // the ledgers that keep other servers
	place  string  // of the servers that this one keeps
	whole  *Ledger // that this one is a part of; nil: none

	mu      sync.Mutex                   // guards the following; nothing slow happens under it
	waiting []*request                   // that nobody works on yet
	listed  map[string]map[string]string // hashes of the tools that servers of this process have listed, by name

	turn chan struct{} // holds one token while a goroutine writes; guards what follows

	value   *document.Value[*ledgerState] // in the store
	stored  *ledgerState                  // what the store has; nil: nothing
	kept    *ledgerState                  // the same, with what could not be written
	journal []ledgerOp                    // notes of what servers list, to be written with what is written next
	noted   map[string]time.Time          // when the lists of servers were written that only wait
}

// A ledgerView is what readers see.
type ledgerView struct {
	state   *ledgerState
	n       uint64
	changed chan struct{} // closed when there is another view
}

var errNoLedger = errors.New("ledger: there is none, or it is the zero one: make it with Open, Load or New")

// now returns what readers see: of a nil or zero ledger nothing.
func (l *Ledger) now() *ledgerView {
	if l != nil {
		if v := l.view.Load(); v != nil {
			return v
		}
	}
	return &ledgerView{state: &ledgerState{servers: map[string]*ledgerServer{}}}
}

// New returns a ledger that lives in memory only. An unknown mode counts as
// [Review].
func New(opts *Options) *Ledger {
	l := &Ledger{turn: make(chan struct{}, 1), noted: map[string]time.Time{}, listed: map[string]map[string]string{}}
	o := cmp.Or(opts, new(Options))
	l.mode, l.places.open = cmp.Or(o.Mode, Pin), o.Open
	l.kept = &ledgerState{servers: map[string]*ledgerServer{}}
	l.view.Store(&ledgerView{state: l.kept, n: 1, changed: make(chan struct{})})
	l.trouble.Store(new(errInMemory))
	return l
}

var errInMemory = errors.New("the ledger was made to live in memory")

// Open returns the ledger that is kept in the file at path, which is named
// mcp.lock.json by convention and stands beside the configuration, to be committed
// with it. The file is made when there is something to write; a symbolic link is
// followed, but one that leads out of its folder only to a file that is there. One that is
// not sound fails with a [*Error]: unlike one that is missing it is never taken for
// empty.
//
// The file is JSON with sorted names, indented by tabs. Each value has a line of its own,
// but for arrays and objects of a surface that have at most 120 bytes. Each list of servers or
// tools ends with the member "": "end", which is neither: no line changes because
// another one came behind it, so git merges what two branches have added.
//
// Where nothing can be written the ledger lives in memory, on the ground of what
// the file says, see [Ledger.Persistent].
func Open(path string, opts *Options) (*Ledger, error) {
	l := New(opts)
	l.file = path
	file := newFile(path)
	ctx := context.Background()
	file.Clean(ctx)
	return l.open(ctx, file, "")
}

// Load returns the ledger that is kept in a store under a name, see [storage.CheckName],
// such as "ledger". It has the form of the file, and at most storage.MaxData bytes. One that
// is not sound fails with a [*Error]. If the store cannot be written to the ledger lives in
// memory, as with [Open].
func Load(ctx context.Context, store storage.Store, name string, opts *Options) (*Ledger, error) {
	l := New(opts)
	if nils.Is(store) {
		return nil, l.fail(errors.New("there is no store"))
	}
	return l.open(ctx, store, name)
}

// open makes l, which is empty, the ledger that a store keeps.
func (l *Ledger) open(ctx context.Context, store document.Keeper, name string) (*Ledger, error) {
	l.store, l.name = store, name
	l.value = document.New(store, name, func(data []byte) (*ledgerState, error) { return parseLedger(l.file, data) },
		func(s *ledgerState) ([]byte, error) { return s.render(), nil })
	l.trouble.Store(nil)
	if !l.mode.known() {
		return nil, l.fail(fmt.Errorf("the mode %s is not known: it is trust, pin or review", plain.Quote(string(l.mode))))
	}
	if err := l.refresh(ctx); err != nil {
		return nil, err
	}
	l.publish(l.kept)
	return l, nil
}

// Persistent returns nil if what happens is kept, so far as is known, and otherwise
// why it is not: the ledger was made by [New], or nothing could be written
// when it was tried last. Everything works then, until the program ends.
func (l *Ledger) Persistent() error {
	return l.eachPart(func(part *Ledger) error {
		if err := part.trouble.Load(); err != nil {
			return *err
		}
		return nil
	})
}

// Record makes the ledger know what a server offers now: it pins, or notes what
// is pending, as the mode says, and returns when that is kept. Tools that only wait may
// be written a little later, if a server changes all the time. Nothing that could
// not be written is accepted.
func (l *Ledger) Record(ctx context.Context, s Server, tools []*Surface) error {
	l, err := l.At(s.Place)
	if err != nil {
		return err
	}
	if s.Name == "" || !utf8.ValidString(s.Name) {
		return l.fail(fmt.Errorf("a server cannot be called %s", plain.Quote(s.Name)))
	}
	if s.Mode != "" && !s.Mode.known() {
		return &Error{file: l.file, server: s.Name, err: fmt.Errorf("the mode %s is not known: it is trust, pin or review", plain.Quote(string(s.Mode)))}
	}
	now := time.Now().UTC().Truncate(time.Second)
	seen := sightingOf(s, l.modeOf(&s), tools, now)
	if seen.lists {
		l.mu.Lock()
		seen.listed = seen.listedAfter(l.listed[s.Name])
		l.listed[s.Name] = seen.listed
		l.mu.Unlock()
	}
	op := ledgerOp{server: s.Name, apply: func(e *ledgerEdit) error { seen.observe(e); return nil }}
	return l.do(ctx, &request{op: op, seen: seen})
}

// Judge returns why a tool may not be called, or nil if it may. It reads memory
// only.
func (l *Ledger) Judge(s Server, tool *Surface) *Change {
	if tool == nil {
		return nil
	}
	l, _ = l.At(s.Place)
	return l.placed(l.now().state.judge(l.modeOf(&s), &s, tool))
}

// Foresee returns what judge would answer had the server listed these tools. It
// changes nothing.
func (l *Ledger) Foresee(s Server, tools []*Surface) func(*Surface) *Change {
	l, _ = l.At(s.Place)
	mode := l.modeOf(&s)
	edit := editLedger(l.now().state)
	sightingOf(s, mode, tools, time.Now().UTC().Truncate(time.Second)).observe(edit)
	return func(tool *Surface) *Change {
		if tool == nil {
			return nil
		}
		return l.placed(edit.state.judge(mode, &s, tool))
	}
}

// About returns a value that is not equal to what it returned before whenever judge
// could answer differently about the tools of a server.
func (l *Ledger) About(s Server) any {
	l, _ = l.At(s.Place)
	return l.now().state.servers[s.Name]
}

// Generation grows whenever judge could answer differently than before, and
// changed is closed then.
func (l *Ledger) Generation() (n uint64, changed <-chan struct{}) {
	v := l.now()
	return v.n, v.changed
}

// Reload reads what other processes have decided, if they have decided anything,
// and costs next to nothing if not. A registry calls it when the tools of a
// server are replaced, and before it says that a tool is held back. So what was
// accepted elsewhere counts at once, but what was rejected only from the next
// list on, or with [Ledger.Follow] soon. It fails with a [*Error] if what is kept is not
// sound; what was known before stays.
func (l *Ledger) Reload(ctx context.Context) error {
	return l.eachPart(func(part *Ledger) error { return part.reload(ctx) })
}

// reload reads what other processes have decided of what the ledger keeps itself.
func (l *Ledger) reload(ctx context.Context) error {
	if err := ctx.Err(); err != nil || l == nil || l.turn == nil {
		return cmp.Or(err, errNoLedger)
	}
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
		return l.renew(ctx)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Follow reloads the ledger whenever another process may have decided something, until ctx ends or
// the store is closed, and returns why it ended. It learns of that as soon as the store tells it,
// if that is a storage.Watcher, and else within 3 seconds; of a file within one. What cannot be read
// stays as it was. Call it in a goroutine of the program: those that it starts, one for each
// [Server].Place, end before it does.
func (l *Ledger) Follow(ctx context.Context) error {
	if l == nil || l.turn == nil {
		return errNoLedger
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() { l.followParts(ctx, &running) })
	return l.follow(ctx)
}

// follow reloads what the ledger keeps itself, as [Ledger.Follow] does.
func (l *Ledger) follow(ctx context.Context) error {
	if l.store == nil { // no other process has it
		<-ctx.Done()
		return ctx.Err()
	}
	var ended error
	for _, err := range document.Watch(ctx, l.store, l.name) {
		if ended = err; err == nil {
			_ = l.reload(ctx)
		}
	}
	return ended
}

// renew lets readers see what other processes did. It needs the turn.
func (l *Ledger) renew(ctx context.Context) error {
	before := l.kept
	if err := l.refresh(ctx); err != nil {
		return err
	}
	if l.kept != before {
		l.publish(l.replay().state)
	}
	return nil
}

// modeOf returns the mode for a server. One that is not known is as strict as there is.
func (l *Ledger) modeOf(s *Server) Mode {
	if l == nil {
		return Review
	}
	mode := l.mode
	if s.Mode != "" {
		mode = s.Mode
	}
	if !mode.known() {
		return Review
	}
	return mode
}

func (l *Ledger) fail(err error) error {
	if _, already := errors.AsType[*Error](err); already {
		return err
	}
	return &Error{file: l.file, err: err}
}
