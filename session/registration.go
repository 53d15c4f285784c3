package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/internal/secret"
	"github.com/mcpbelt/mcpbelt/session/seal"
	"github.com/mcpbelt/mcpbelt/storage"
)

// A registration is what the program has registered itself as at an authorization
// server, for all sessions that log in there in the same way.
type registration struct {
	Version int `json:"version"`
	// Client is nil if the authorization server has forgotten it.
	Client *auth.Client `json:"client,omitempty"`
}

// registrationName returns the name under which a registration is kept. Those at other
// issuers, with another redirect URI or as another kind of program have other names.
func registrationName(c *auth.Config, issuer, redirect string) string {
	said, _ := json.Marshal([]any{issuer, redirect, c.Grant, c.ClientName, "", c.DPoP}) // never fails
	return registrationPrefix + hashOf(string(said))
}

// loadRegistration reads a registration. There is always one, though it may be empty.
func (m *Manager) loadRegistration(ctx context.Context, name string) (*registration, storage.Revision, error) {
	r := &registration{}
	kept, err := m.store.Load(ctx, name, "")
	at := kept.Revision
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return r, "", nil
	case errors.As(err, new(*seal.CorruptError)) && !errors.Is(err, seal.ErrFormat), errors.Is(err, storage.ErrDamaged):
		return r, at, nil // the next one replaces it
	case err != nil:
		return nil, at, err
	}
	if err := json.Unmarshal(kept.Data, r); err != nil {
		return nil, at, fmt.Errorf("not a registration: %w", err)
	}
	if r.Version < 1 || r.Version > recordFormat {
		return nil, at, fmt.Errorf("a registration of format %d, which this version does not know", r.Version)
	}
	return r, at, nil
}

// saveRegistration replaces a registration.
func (m *Manager) saveRegistration(ctx context.Context, name string, c *auth.Client, old storage.Revision) error {
	data, err := secret.Encode(&registration{Version: recordFormat, Client: c})
	if err == nil {
		_, err = m.store.Save(ctx, name, data, old)
	}
	return err
}

// register returns the client to log in as: that of all sessions, or a new one that is
// theirs from then on.
func (j *job) register(ctx context.Context, a *auth.Authority, redirect string, scopes []string) (*auth.Client, error) {
	m, name := j.manager, registrationName(j.config, a.Issuer, redirect)
	unlock, err := m.registering.Lock(ctx, name)
	if err != nil {
		return nil, err
	}
	defer unlock()
	free, err := m.store.Lock(ctx, name)
	if err != nil {
		return nil, &StoreError{key: j.key, op: "lock", err: err}
	}
	defer free()
	for {
		r, at, err := m.loadRegistration(ctx, name)
		if err != nil {
			return nil, &StoreError{key: j.key, op: "load", err: err}
		}
		known, own := r.Client, j.record.Client
		if known != nil && own != nil && known.ID == own.ID && j.request.asked && j.record.Unanswered {
			known = nil // perhaps it was forgotten, which only the user is told
		}
		c, err := j.flow.Register(ctx, a, redirect, scopes, known)
		if err != nil || c.Source != auth.Dynamic || r.Client != nil && r.Client.ID == c.ID {
			return c, err
		}
		err = m.saveRegistration(ctx, name, c, at)
		if err == nil {
			return c, nil
		}
		if !errors.Is(err, storage.ErrConflict) || ctx.Err() != nil {
			return nil, &StoreError{key: j.key, op: "save", err: err}
		}
		// Another process was faster: its client is that of all.
	}
}

// forgetClient notes that an authorization server knows the client no more that all
// sessions share, if it is that one. If it cannot be saved, the next one finds out again.
func (m *Manager) forgetClient(ctx context.Context, config *auth.Config, c *auth.Client) {
	redirect := ""
	if len(c.RedirectURIs) > 0 {
		redirect = c.RedirectURIs[0]
	}
	name := registrationName(config, c.Issuer, redirect)
	if r, at, err := m.loadRegistration(ctx, name); err == nil && r.Client != nil && r.Client.ID == c.ID {
		_ = m.saveRegistration(ctx, name, nil, at)
	}
}
