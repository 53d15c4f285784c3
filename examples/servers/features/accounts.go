package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// visitTime is how long a user has to follow an invitation.
const visitTime = 10 * time.Minute

// accounts is a web page where a user connects an account. What the user does
// there never passes through the client: that is what elicitation by URL is for.
type accounts struct {
	base string // the page's address, without the invitation
	srv  *http.Server
	done chan struct{} // closed when srv has ended

	mu      sync.Mutex
	invited map[string]*invitation
}

// An invitation is one user's way to the page.
type invitation struct {
	visited chan struct{} // closed when the user has been there
	visit   func()        // closes it, and tells the client, once
}

func openAccounts() (*accounts, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	a := &accounts{
		base:    fmt.Sprintf("http://%s/connect/", listener.Addr()),
		done:    make(chan struct{}),
		invited: make(map[string]*invitation),
	}
	mux := http.NewServeMux()
	// A link preview follows links too, so that only the button counts.
	mux.HandleFunc("GET /connect/{id}", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `<!doctype html><title>Connect</title><form method="post"><button>Connect my account</button></form>`)
	})
	mux.HandleFunc("POST /connect/{id}", func(w http.ResponseWriter, r *http.Request) {
		i := a.find(r.PathValue("id"))
		if i == nil {
			http.NotFound(w, r)
			return
		}
		i.visit()
		fmt.Fprint(w, "Your account is connected. You can close this page.\n")
	})
	a.srv = &http.Server{Handler: http.NewCrossOriginProtection().Handler(mux), ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second}
	go func() {
		defer close(a.done)
		_ = a.srv.Serve(listener) // until close
	}()
	return a, nil
}

func (a *accounts) close() {
	_ = a.srv.Close()
	<-a.done
}

// invite returns a new invitation; tell is called with it when the user has been
// there. It cannot be guessed, so that a user who knows it is the one who was invited.
func (a *accounts) invite(tell func(id string)) (id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	id = rand.Text()
	visited := make(chan struct{})
	a.invited[id] = &invitation{visited, sync.OnceFunc(func() { close(visited); tell(id) })}
	return id
}

// find returns an invitation; nil if there is none.
func (a *accounts) find(id string) *invitation {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.invited[id]
}

// await returns when the user has been there, and ends the invitation.
func (a *accounts) await(ctx context.Context, id string) error {
	i := a.find(id)
	if i == nil {
		return errors.New("there is no such invitation; call connect_account again")
	}
	defer a.withdraw(id)
	ctx, cancel := context.WithTimeout(ctx, visitTime)
	defer cancel()
	select {
	case <-i.visited:
		return nil
	case <-ctx.Done():
		return errors.New("the account was not connected in time")
	}
}

func (a *accounts) withdraw(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.invited, id)
}
