package session

import (
	"context"
	"fmt"
	"maps"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/internal/httpfield"
)

// SetHeader has the requests of a session sent with these fields, such as
// Authorization or X-Api-Key, instead of a token. They replace those set before
// and any login, whose tokens are not revoked: call Logout before for that. A
// later login replaces them. Without fields it only removes them.
func (m *Manager) SetHeader(ctx context.Context, key Key, header map[string]auth.Secret) error {
	_, config, err := m.flow(key)
	if err != nil {
		return err
	}
	for name, value := range header {
		if !httpfield.ValidName(name) {
			return fmt.Errorf("session: %v: %q is no header name", key, name)
		}
		if !httpfield.ValidValue(value.Reveal()) {
			return fmt.Errorf("session: %v: the value of %s holds a control character", key, name)
		}
	}
	e := m.entry(key)
	pending := ""
	err = e.exclusively(ctx, func(ctx context.Context) error {
		_, err := e.change(ctx, func(r *record) *record {
			if len(header) == 0 {
				return r.with(func(r *record) { r.Header = nil })
			}
			if r.Login != nil {
				pending = r.Login.Name
			}
			return r.with(func(r *record) {
				r.Header, r.URL = maps.Clone(header), config.URL
				r.Grant, r.Ended, r.Journal, r.Login, r.DeclinedReason, r.Failed = nil, "", nil, nil, "", ""
			})
		})
		if len(header) > 0 && err == nil {
			e.takeUnsaved()
		}
		return err
	})
	if len(header) > 0 && err == nil {
		m.drop(ctx, pending)
		e.stopShowing()
	}
	return err
}

// SetToken has the requests of a session sent with a bearer token that was issued
// by other means. It is SetHeader with an Authorization field.
func (m *Manager) SetToken(ctx context.Context, key Key, token auth.Secret) error {
	return m.SetHeader(ctx, key, map[string]auth.Secret{"Authorization": "Bearer " + token})
}
