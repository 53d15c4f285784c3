package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// callAgain is how long a caller waits after a call that failed.
const callAgain = 5 * time.Millisecond

// away ends the server's process and starts it again at the same address after two
// slots, while a caller calls. It measures from when the server listens until a call
// is answered, and has no figure if that takes four slots more.
func (c *client) away(ctx context.Context, w work, slot time.Duration) (cell, error) {
	s, err := c.connect(ctx, w.link)
	if err != nil {
		return cell{}, err
	}
	defer func() { _ = s.Close() }() // what broke is no failure of the work
	_ = c.web.close()                // connections that break are no failure here
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	back, answered := make(chan time.Time, 1), make(chan time.Duration, 1)
	go func() { answered <- callUntilAnswered(ctx, s, back) }()
	time.Sleep(2 * slot)
	spec := c.server
	spec.address = strings.TrimPrefix(c.web.url, "http://")
	if c.web, err = startWebServer(c.program, spec); err != nil {
		stop()
		<-answered
		return cell{}, err
	}
	back <- time.Now()
	giveUp := time.AfterFunc(4*slot, stop)
	defer giveUp.Stop()
	return cellOf(<-answered), nil
}

// callUntilAnswered calls until a call is answered and returns how long after back
// that was, or a negative time if ctx ended before.
func callUntilAnswered(ctx context.Context, s session, back <-chan time.Time) time.Duration {
	for ctx.Err() == nil {
		again := echo(0)
		if err := s.Call(ctx, &again); err == nil {
			answered := time.Now()
			select {
			case from := <-back:
				// The server may have answered before its address was read.
				return max(1, answered.Sub(from))
			case <-ctx.Done():
			}
			break
		}
		select {
		case <-time.After(callAgain):
		case <-ctx.Done():
		}
	}
	return -1
}

// lost has the server end the listening stream and measures until the client's user
// can see it. It has no figure if that takes four slots.
func (c *client) lost(ctx context.Context, w work, slot time.Duration) (cell, error) {
	s, err := c.connect(ctx, w.link)
	if err != nil {
		return cell{}, err
	}
	defer func() { _ = s.Close() }() // what broke is no failure of the work
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	missed := s.(watcher).Missed(ctx)
	start := time.Now()
	if err := c.cut(ctx); err != nil {
		return cell{}, err
	}
	select {
	case <-missed:
		return cellOf(time.Since(start)), nil
	case <-time.After(4 * slot):
		return cell{}, nil
	}
}

// cut has the HTTP server end one listening stream, and waits for one if need be.
func (c *client) cut(ctx context.Context) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.web.url+cutPath, http.NoBody)
	if err != nil {
		return err
	}
	t := &http.Transport{DisableKeepAlives: true}
	response, err := t.RoundTrip(r)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusNoContent {
		err = fmt.Errorf("the server answered %s to a cut", response.Status)
	}
	return errors.Join(err, response.Body.Close())
}

// cellOf is the cell of something that took d, or did not happen if d is negative.
func cellOf(d time.Duration) cell {
	if d < 0 {
		return cell{}
	}
	return cell{Calls: 1, Elapsed: d}
}
