package session

import "context"

// LoadForTest is load, for tests that cannot be in this package.
func (s *Store) LoadForTest(ctx context.Context, name string) ([]byte, error) {
	data, _, err := s.load(ctx, name)
	return data, err
}

// SaveForTest saves a new record.
func (s *Store) SaveForTest(ctx context.Context, name string, data []byte) error {
	_, err := s.save(ctx, name, data, version{})
	return err
}
