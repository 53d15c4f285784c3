package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/session"
)

// measureUsers has many users call one HTTP server in this process, each with a token of
// his own, through 64 clients. The server checks the token of every request. What the
// process takes includes the server.
func measureUsers(ctx context.Context, o *options) (rows []row, err error) {
	var wrong, requests atomic.Int64
	var sessions sync.Map // session id to user
	userOf := func(h http.Header) string { return strings.TrimPrefix(h.Get("Authorization"), "Bearer ") }
	handler := sdk.NewStreamableHTTPHandler(func(r *http.Request) *sdk.Server {
		s := sdk.NewServer(&sdk.Implementation{Name: "office", Version: "1"}, nil)
		sdk.AddTool(s, &sdk.Tool{Name: "whoami"}, func(_ context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: userOf(r.Extra.Header)}}}, nil, nil
		})
		return s
	}, nil)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		user := userOf(r.Header)
		if id := r.Header.Get("Mcp-Session-Id"); id != "" {
			if owner, _ := sessions.LoadOrStore(id, user); owner != user {
				wrong.Add(1)
			}
		}
		if user == "" {
			wrong.Add(1)
		}
		handler.ServeHTTP(w, r)
	})}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	defer func() {
		err = errors.Join(err, server.Close())
		<-served
	}()
	c, err := parse("office", fmt.Sprintf(`{"url": "http://%s/"}`, listener.Addr()))
	if err != nil {
		return nil, err
	}
	c.Servers[0].Identity = config.IdentityHeader
	h := host.New(&host.Options{StateDir: host.NoState, UserHeaders: func(_ context.Context, key session.Key, _ *config.Server) (http.Header, error) {
		return http.Header{"Authorization": {"Bearer " + key.User}}, nil
	}})
	defer func() { err = errors.Join(err, h.Close()) }()
	if _, err := h.Apply(ctx, c); err != nil {
		return nil, err
	}
	if err := h.Discover(ctx, session.Key{User: "first", Server: "office"}); err != nil {
		return nil, err
	}
	memory, err := resident()
	if err != nil {
		return nil, err
	}
	before := memory
	var rate, rss, goroutines []float64
	for range o.rounds {
		most, begin := 0, time.Now()
		if most, err = callAsUsers(ctx, h, o.users); err != nil {
			return nil, err
		}
		rate = append(rate, float64(2*o.users)/time.Since(begin).Seconds())
		goroutines = append(goroutines, float64(most))
		if memory, err = resident(); err != nil {
			return nil, err
		}
		rss = append(rss, memory)
	}
	if n := wrong.Load(); n > 0 {
		return nil, fmt.Errorf("%d of %d requests had another user's token, or none", n, requests.Load())
	}
	return []row{
		{fmt.Sprintf("%d users with %d clients, calls each second", o.users, host.DefaultMaxUserClients), rate, "", ""},
		{"resident memory before", []float64{before}, "MB", ""},
		{"resident memory after each round", rss, "MB", "does not grow"},
		{"goroutines, at most", goroutines, "", "bounded"},
		{"requests with a wrong token", []float64{float64(wrong.Load())}, "", "0"},
	}, nil
}

// callAsUsers makes two calls for each user, by 128 callers, and returns how many
// goroutines there were at most.
func callAsUsers(ctx context.Context, h *host.Host, users int) (most int, err error) {
	next := make(chan int)
	errs := make([]error, 128)
	var wg sync.WaitGroup
	for k := range errs {
		wg.Go(func() {
			for i := range next {
				if errs[k] == nil {
					errs[k] = callAs(ctx, h, "user"+strconv.Itoa(i))
				}
			}
		})
	}
	for i := range users {
		next <- i
		most = max(most, runtime.NumGoroutine())
	}
	close(next)
	wg.Wait()
	return most, errors.Join(errs...)
}

func callAs(ctx context.Context, h *host.Host, user string) error {
	ctx = session.WithUser(ctx, user)
	for range 2 {
		res, err := h.Registry().Call(ctx, "office__whoami", nil)
		if err != nil {
			return fmt.Errorf("%s: %w", user, err)
		}
		text, ok := res.Content[0].(*sdk.TextContent)
		if !ok || text.Text != user {
			return fmt.Errorf("%s got the answer of another: %+v", user, res.Content[0])
		}
	}
	return nil
}

// resident returns the memory that this process has, in MB; 0 where the system does not
// tell.
func resident() (float64, error) {
	runtime.GC()
	text, err := os.ReadFile("/proc/self/statm")
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	return float64(pages*os.Getpagesize()) / 1e6, err
}
