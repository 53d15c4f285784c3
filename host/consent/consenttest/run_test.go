package consenttest_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/mcpbelt/mcpbelt/host/consent"
	"github.com/mcpbelt/mcpbelt/host/consent/consenttest"
)

// An asideStore keeps the book in a file that only this process writes.
type asideStore struct {
	mu   *sync.Mutex
	path string
}

func (s asideStore) read() ([]byte, string) {
	data, err := os.ReadFile(s.path)
	if err != nil {
		return nil, ""
	}
	return data, revision(data)
}

func (s asideStore) Load(ctx context.Context, _ string) ([]byte, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data, now := s.read()
	return data, now, ctx.Err()
}

func (s asideStore) Save(ctx context.Context, data []byte, old string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, now := s.read(); now != old {
		return "", consent.ErrConflict
	}
	return revision(data), os.WriteFile(s.path, data, 0o600)
}

func revision(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func TestRun(t *testing.T) {
	open := func(t testing.TB) consent.Store {
		return asideStore{new(sync.Mutex), filepath.Join(t.TempDir(), "consents")}
	}
	consenttest.Run(t, open, func(_ testing.TB, s consent.Store) consent.Store { return s })
}
