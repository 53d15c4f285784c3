package session

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/mcpbelt/mcpbelt/auth"
)

// maxFlows bounds the flows that are kept.
const maxFlows = 256

// A keptFlow is the flow of a Config, which owns connections and nonces.
type keptFlow struct {
	config  *auth.Config // as Options.Config has returned it
	content auth.Config  // its content then
	flow    *auth.Flow
}

// config returns how to log in for a key.
func (m *Manager) config(key Key) (*auth.Config, error) {
	if m.opts.Config == nil {
		return nil, errZeroManager
	}
	config, err := m.opts.Config(key)
	if err == nil && config == nil {
		err = errors.New("no such server")
	}
	if err != nil {
		return nil, fmt.Errorf("session: %v: %w", key, err)
	}
	return config, nil
}

// flow returns the steps of logging in for a key.
func (m *Manager) flow(key Key) (*auth.Flow, *auth.Config, error) {
	config, err := m.config(key)
	if err != nil {
		return nil, nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, kept := range m.flows {
		if kept.config == config || sameConfig(&kept.content, config) {
			copy(m.flows[1:i+1], m.flows[:i])
			m.flows[0] = kept
			return kept.flow, config, nil
		}
	}
	f, err := auth.New(config)
	if err != nil {
		return nil, nil, err
	}
	if len(m.flows) == maxFlows {
		m.flows[maxFlows-1].flow.Close() // jobs that use it go on, with new connections
		m.flows = m.flows[:maxFlows-1]
	}
	m.flows = append([]*keptFlow{{config: config, content: *config, flow: f}}, m.flows...)
	return f, config, nil
}

// sameConfig reports whether two Configs have the same content. Functions are equal only
// if both are nil, TLS configurations and signers only if they are the same pointer.
func sameConfig(a, b *auth.Config) bool {
	if a.URL != b.URL || a.Server != b.Server { // most others
		return false
	}
	x, y := *a, *b
	if x.Network.TLS != y.Network.TLS || !sameKey(x.SigningKey, y.SigningKey) {
		return false
	}
	x.Network.TLS, y.Network.TLS = nil, nil
	x.SigningKey, y.SigningKey = nil, nil
	if x.Enterprise != nil && y.Enterprise != nil {
		p, q := *x.Enterprise, *y.Enterprise
		if !sameKey(p.SigningKey, q.SigningKey) {
			return false
		}
		p.SigningKey, q.SigningKey = nil, nil
		x.Enterprise, y.Enterprise = &p, &q
	}
	return reflect.DeepEqual(x, y)
}

// sameKey reports whether two signing keys are the same. The content of a signer is not
// looked at: it may be in use.
func sameKey(a, b *auth.SigningKey) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a.ID != b.ID || a.Audience != b.Audience {
		return false
	}
	if v := reflect.ValueOf(a.Signer); v.IsValid() && !v.Comparable() { // bytes, as of Ed25519
		return reflect.DeepEqual(a.Signer, b.Signer)
	}
	return a.Signer == b.Signer
}
