package main

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/session"
)

// users has N users call one server over HTTP.
func users() axis {
	return axis{
		name: "users", counts: "users",
		about: "N users with a token each call one server over HTTP in turn, by 32 callers: once to begin with, " +
			"then for a second. The pool has 64 clients, which is the default, or one for each user.",
		subjects: []string{poolDefault, poolForAll}, sizes: []int{16, 64, 100, 1_000},
		plots:   []string{"call, µs", "requests per call", "resident, MB"},
		measure: measureUsers,
	}
}

const (
	poolDefault = "pool of 64"
	poolForAll  = "pool for all"
)

func measureUsers(ctx context.Context, p point) (f figures, err error) {
	web, err := startWebServer(roleServer, "http")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, web.close()) }()
	places := 0
	if p.Subject == poolForAll {
		places = p.N + 1
	}
	before := weigh()
	h, err := openUsers(ctx, web.at("mcp"), places)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	if _, _, err := callAsUsers(ctx, h, p.N, 0); err != nil {
		return nil, err
	}
	f = figures{}
	f.since(before)
	seen, err := web.counts()
	if err != nil {
		return nil, err
	}
	calls, took, err := callAsUsers(ctx, h, p.N, time.Second)
	if err != nil {
		return nil, err
	}
	now, err := web.counts()
	f["call, µs"] = micros(took) / float64(calls)
	f["requests per call"] = float64(now.Requests-seen.Requests) / float64(calls)
	f["connections per call"] = float64(now.Connections-seen.Connections) / float64(calls)
	return f, err
}

// callAsUsers makes a call as each user in turn, by 32 callers, again and again for at
// least so long.
func callAsUsers(ctx context.Context, h *host.Host, users int, least time.Duration) (calls int64, took time.Duration, err error) {
	const callers = 32
	var next, made atomic.Int64
	errs := make([]error, callers)
	var wg sync.WaitGroup
	begin := time.Now()
	for k := range callers {
		wg.Go(func() {
			for errs[k] == nil {
				i := next.Add(1) - 1
				if i >= int64(users) && time.Since(begin) >= least {
					return
				}
				ctx := session.WithUser(ctx, "user"+strconv.FormatInt(i%int64(users), 10))
				res, err := h.Registry().Call(ctx, "s000__text", arguments(10))
				if err == nil {
					err = answered(res.Content, 10)
				}
				errs[k] = err
				made.Add(1)
			}
		})
	}
	wg.Wait()
	return made.Load(), time.Since(begin), errors.Join(errs...)
}
