package gateway

import (
	"time"

	"github.com/mcpbelt/mcpbelt/host/gateway/internal/quota"
)

// Bounds of the jobs that wait to be asked for by their ids.
const (
	maxParked = 10_000
	// maxParkedOf bounds those of one owner, so that one cannot take the room of all.
	maxParkedOf = 1000
	// maxParkedBytes bounds the results that wait to be fetched, with the parameters of the calls that can be
	// continued. The oldest are forgotten.
	maxParkedBytes = 256 << 20
	// resultKept is how long the result of a job is kept that was not fetched.
	resultKept = 10 * time.Minute
)

// parkedJobs are the jobs that clients can ask for by their ids. The mutex of the Gateway guards them.
type parkedJobs struct {
	byID  map[string]*job
	count quota.Quota
	bytes int // of the results, and of what goes with them
}

func (p *parkedJobs) remove(j *job) {
	if p.byID[j.id] != j {
		return
	}
	delete(p.byID, j.id)
	p.bytes -= j.weight
	j.weight = 0
	p.count.Give(j.peer.caller.Owner(), 1)
}

// park keeps the job for a client that will ask for it by its id. It reports false if there are too
// many.
func (g *Gateway) park(j *job) bool {
	defer g.weigh(j) // when the mutex is free
	g.mu.Lock()
	defer g.mu.Unlock()
	p := &g.jobs
	if p.byID[j.id] == nil {
		if p.count.Take(j.peer.caller.Owner(), 1, "calls wait") != nil {
			return false
		}
		p.byID[j.id] = j
	}
	return true
}

// unpark forgets a job whose result was fetched.
func (g *Gateway) unpark(j *job) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.jobs.remove(j)
}

// weigh counts the result of a job that has ended, and forgets the oldest results if all together are
// too large.
func (g *Gateway) weigh(j *job) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := &g.jobs
	if p.byID[j.id] != j || j.weight > 0 || !j.isDone() {
		return
	}
	j.weight = len(j.result)
	if j.first != nil {
		j.weight += len(j.first.params.All)
	}
	for p.bytes += j.weight; p.bytes > maxParkedBytes; {
		var oldest *job
		for _, other := range p.byID {
			if other.weight > 0 && (oldest == nil || other.ended.Before(oldest.ended)) {
				oldest = other
			}
		}
		p.remove(oldest)
	}
}

// parked returns the job of that id if the peer may have it.
func (g *Gateway) parked(p *peer, id string) *job {
	g.mu.Lock()
	j := g.jobs.byID[id]
	g.mu.Unlock()
	if j == nil || !p.owns(j.peer) {
		return nil
	}
	if j.tool != "" { // a grant may have shrunk since; a tool that is gone has a result still
		if d, ok := g.host.Registry().Resolve(j.tool); ok && !p.sees(d) {
			return nil
		}
	}
	return j
}

// forgettable reports whether the result was not fetched for too long, or cannot be.
func (j *job) forgettable(now time.Time) bool {
	if s := j.peer.session; s != nil && s.ctx.Err() != nil {
		return true
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return !j.ended.IsZero() && now.Sub(j.ended) > resultKept
}
