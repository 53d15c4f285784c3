package host

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/keylock"
	"github.com/mcpbelt/mcpbelt/session"
)

// A pool holds the links of users. There are never more than it has places, those that
// are being closed included; who needs a place waits, in turn, until a link that nobody
// has is ended. Of several servers each has three quarters of the places at most: one
// that does not answer leaves some to the users of the others.
type pool struct {
	host   *Host
	all    *room       // all places
	making keylock.Set // by key: held while a link is made

	mu    sync.Mutex // guards the following, and the rooms
	links map[session.Key]*link
}

// A room is a number of places for links: all, or those that one server may have. A
// link of one of several servers takes a place in two rooms.
type room struct {
	places chan struct{} // a token for each link

	waiting int // for a place
	leaving int // links that are being closed for those who wait here
}

func newRoom(places int) *room { return &room{places: make(chan struct{}, places)} }

func newPool(h *Host, places int) *pool {
	return &pool{host: h, all: newRoom(places), links: map[session.Key]*link{}}
}

// serverRoom returns a room for the links of one server.
func (p *pool) serverRoom() *room { return newRoom(cap(p.all.places) - cap(p.all.places)/4) }

// rooms returns where a new link of a server needs places, in the order in which they
// are to be taken.
func (p *pool) rooms(s *server) []*room {
	for _, other := range p.host.current() {
		if other.perUser() && other.slot != s.slot {
			return []*room{s.room, p.all}
		}
	}
	return []*room{p.all}
}

// take returns the link of a user at a server, taken, and makes it if there is none.
func (p *pool) take(ctx context.Context, s *server, key session.Key) (*link, error) {
	if l := p.find(s, key); l != nil {
		return l, nil
	}
	unlock, err := p.making.Lock(ctx, key.Server+"\x00"+key.User)
	if err != nil {
		return nil, fmt.Errorf("server %q: waiting for the user's client: %w", key.Server, err)
	}
	defer unlock()
	if l := p.find(s, key); l != nil {
		return l, nil
	}
	var in []*room
	placed := false
	defer func() {
		if !placed { // also if a callback panics
			for _, r := range in {
				<-r.places
			}
		}
	}()
	for _, r := range p.rooms(s) {
		if err := p.place(ctx, r, key); err != nil {
			return nil, err
		}
		in = append(in, r)
	}
	l, err := s.userLink(ctx, key)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s.mu.Lock()
	stopped := s.stopped
	s.mu.Unlock()
	if stopped { // and its links were ended before this one was among them
		return nil, errEnded
	}
	if old := p.links[key]; old != nil { // of a predecessor, whose links are about to be ended
		old.end()
		p.closeLocked(old)
	}
	l.take()
	l.rooms = in
	l.gone = func() { p.freed(l) }
	p.links[key] = l
	placed = true
	p.host.broadcast()
	return l, nil
}

// find returns the link of a user at a server, taken, if there is one.
func (p *pool) find(s *server, key session.Key) *link {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l := p.links[key]; l != nil && l.server == s && l.take() {
		return l
	}
	return nil
}

// drop gives a link back.
func (p *pool) drop(l *link) {
	if !l.drop() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range l.rooms {
		p.expelLocked(r)
	}
}

// place waits for a place in a room.
func (p *pool) place(ctx context.Context, r *room, key session.Key) error {
	select {
	case r.places <- struct{}{}:
		return nil
	default:
	}
	p.mu.Lock()
	r.waiting++
	p.expelLocked(r)
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		r.waiting--
		p.mu.Unlock()
	}()
	select {
	case r.places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return waited(key, ctx.Err())
	case <-p.host.intake.Done():
		return ErrClosed
	}
}

func waited(key session.Key, err error) error {
	return fmt.Errorf("server %q: all places for the clients of users are taken: %w", key.Server, err)
}

// expelLocked ends the link in a room that was unused longest, if there is one and
// somebody waits there.
func (p *pool) expelLocked(r *room) {
	for r.waiting > r.leaving {
		var oldest *link
		var last time.Time
		for _, l := range p.links {
			if !slices.Contains(l.rooms, r) {
				continue
			}
			if used, ok := l.unused(); ok && (oldest == nil || used.Before(last)) {
				oldest, last = l, used
			}
		}
		if oldest == nil {
			return
		}
		if oldest.endIfIdle() {
			r.leaving++
			oldest.expelled = r
			p.closeLocked(oldest)
		}
	}
}

// rest ends an idle link.
func (p *pool) rest(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.endIfIdle() {
		p.closeLocked(l)
	}
}

// retire ends the links at a server when their calls have finished.
func (p *pool) retire(s *server) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.links {
		if l.server == s {
			l.end()
			p.closeLocked(l)
		}
	}
}

// closeLocked closes an ended link in the background.
func (p *pool) closeLocked(l *link) {
	if p.links[l.key] == l {
		delete(p.links, l.key)
		p.host.broadcast()
	}
	p.host.ending.Go(func() { _ = l.close(p.host.ctx) })
}

// freed gives the places of a closed link to who waits. In the same step it is said not
// to be leaving any more, so that nobody else counts on it.
func (p *pool) freed(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range l.rooms {
		<-r.places
	}
	if l.expelled != nil {
		l.expelled.leaving--
	}
}

// abandon ends a link when its calls have finished.
func (p *pool) abandon(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.links[l.key] == l {
		l.end()
		p.closeLocked(l)
	}
}

// halt keeps the links at a server from being taken, and returns them to be closed.
func (p *pool) halt(s *server) []*link {
	p.mu.Lock()
	defer p.mu.Unlock()
	var links []*link
	for key, l := range p.links {
		if l.server == s {
			l.end()
			delete(p.links, key)
			links = append(links, l)
		}
	}
	return links
}

// at returns the links at a server.
func (p *pool) at(s *server) []*link {
	p.mu.Lock()
	defer p.mu.Unlock()
	var links []*link
	for _, l := range p.links {
		if l.server == s {
			links = append(links, l)
		}
	}
	return links
}
