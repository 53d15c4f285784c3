package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/mcpbelt/mcpbelt/storage"
)

// A lease ends by {now} of the database, in milliseconds. Its row stays, for its number.

// TakeLease implements storage.Leaser.
func (s *store) TakeLease(ctx context.Context, name string, ttl time.Duration) (number int64, err error) {
	err = s.do(ctx, "take a lease", name, func() error {
		err := s.db.row(ctx, `INSERT INTO {p}leases AS l (namespace, name, number, until_ms) VALUES (?, ?, 1, {now} + CAST(? AS BIGINT))
			ON CONFLICT (namespace, name) DO UPDATE SET number = l.number + 1, until_ms = {now} + CAST(? AS BIGINT) WHERE l.until_ms <= {now} RETURNING number`,
			[]any{s.namespace, name, ttl.Milliseconds(), ttl.Milliseconds()}, &number)
		if errors.Is(err, sql.ErrNoRows) {
			err = fmt.Errorf("%w: %q", storage.ErrHeld, name)
		}
		return err
	})
	return number, err
}

// RenewLease implements storage.Leaser.
func (s *store) RenewLease(ctx context.Context, name string, number int64, ttl time.Duration) error {
	return s.prolong(ctx, "renew a lease", name, number, ttl)
}

// ReleaseLease implements storage.Leaser.
func (s *store) ReleaseLease(ctx context.Context, name string, number int64) error {
	return s.prolong(ctx, "release a lease", name, number, 0)
}

// prolong has a lease end that time from now.
func (s *store) prolong(ctx context.Context, op, name string, number int64, ttl time.Duration) error {
	return s.do(ctx, op, name, func() error {
		n, err := s.db.exec(ctx, `UPDATE {p}leases SET until_ms = {now} + CAST(? AS BIGINT) WHERE namespace = ? AND name = ? AND number = ? AND until_ms > {now}`,
			ttl.Milliseconds(), s.namespace, name, number)
		if err == nil && n == 0 {
			err = fmt.Errorf("%w: %q", storage.ErrLost, name)
		}
		return err
	})
}
