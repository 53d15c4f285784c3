package main

import (
	"context"
	"errors"
	"net/http"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/session"
)

// clients has N users whose client of a server is idle.
func clients() axis {
	return axis{
		name: "clients", counts: "users",
		about: "N users have called one server over HTTP once, and have a client each, which is idle. The server has a listening " +
			"stream for each client, or none.",
		subjects: []string{oldIdle, oldListen, newListen}, sizes: []int{100, 1_000, 4_000},
		plots:   []string{"resident, MB", "heap, MB", "open files"},
		measure: measureClients,
	}
}

// clientPaths are where a server does what the subjects need.
func clientPaths() map[string]string {
	return map[string]string{oldIdle: "mcp", oldListen: "listen", newListen: "modern"}
}

func measureClients(ctx context.Context, p point) (f figures, err error) {
	web, err := startWebServer(roleServer, "http")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, web.close()) }()
	before := weigh()
	h, err := openUsers(ctx, web.at(clientPaths()[p.Subject]), p.N+1)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	if _, _, err := callAsUsers(ctx, h, p.N, 0); err != nil {
		return nil, err
	}
	f = figures{}
	f.since(before)
	return f, nil
}

// openUsers returns a host with one server, at which each user has a token. It has places for so many
// clients of users; 0: the default.
func openUsers(ctx context.Context, url string, places int) (*host.Host, error) {
	h := host.New(&host.Options{StateDir: host.NoState, MaxUserClients: places, UserHeaders: func(_ context.Context, key session.Key, _ *config.Server) (http.Header, error) {
		return http.Header{"Authorization": {"Bearer " + key.User}}, nil
	}})
	c, err := parsed(ctx, httpEntry(url))
	if err == nil {
		c.Servers[0].Identity = config.IdentityHeader
		_, err = h.Apply(ctx, c)
	}
	if err == nil {
		err = h.Discover(ctx, session.Key{User: "user0", Server: "s000"})
	}
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}
