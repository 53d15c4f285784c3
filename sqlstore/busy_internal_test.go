package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/assert"
)

type codedError int

func (e codedError) Error() string { return fmt.Sprintf("code %d", int(e)) }
func (e codedError) Code() int     { return int(e) }

func TestIsBusy(t *testing.T) {
	for err, want := range map[error]bool{
		codedError(5):                                  true,
		codedError(6):                                  true,
		codedError(5 | 2<<8):                           true, // SQLITE_BUSY_SNAPSHOT
		codedError(19):                                 false,
		codedError(19 | 5<<8):                          false,
		fmt.Errorf("x: %w", codedError(5)):             true,
		errors.New("database is locked"):               true,
		errors.New("database table is locked: x"):      true,
		errors.New("UNIQUE constraint failed: x.name"): false,
	} {
		assert.Equal(t, isBusy(err), want, "%v", err)
	}
	assert.False(t, isBusy(nil), "nil")
}

// A lock that lasts is waited for, but not for ever, and no longer than the context.
func TestRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &Database{dialect: SQLite}
		start, tries := time.Now(), 0
		err := d.retry(t.Context(), func() error {
			tries++
			if time.Since(start) > time.Second {
				return nil
			}
			return codedError(5)
		})
		assert.OK(t, err)
		assert.True(t, tries >= 5 && tries <= 1000, "%d tries in a second are 5 to 1000", tries)
		start = time.Now()
		assert.Equal(t, d.retry(t.Context(), func() error { return codedError(5) }), error(codedError(5)))
		assert.Equal(t, time.Since(start).Truncate(time.Second), retryFor, "retried for")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start = time.Now()
		assert.Is(t, d.retry(ctx, func() error { return codedError(5) }), context.DeadlineExceeded)
		assert.Equal(t, time.Since(start), time.Second, "retried for")
		tries = 0
		for _, d := range []*Database{{dialect: SQLite}, {dialect: PostgreSQL}} {
			err := codedError(19)
			if d.dialect == PostgreSQL {
				err = 5
			}
			assert.Equal(t, d.retry(t.Context(), func() error { tries++; return err }), error(err))
		}
		assert.Equal(t, tries, 2, "tries")
	})
}

func TestBind(t *testing.T) {
	const query = `SELECT ? FROM {p}x WHERE a = ? AND b IN (?, ?)`
	assert.Equal(t, (&Database{dialect: SQLite, prefix: "t_"}).sql(query), `SELECT ? FROM t_x WHERE a = ? AND b IN (?, ?)`)
	assert.Equal(t, (&Database{dialect: PostgreSQL, prefix: "s.t_"}).sql(query), `SELECT $1 FROM s.t_x WHERE a = $2 AND b IN ($3, $4)`)
}

// What a driver says of a context that has ended differs; the error does not.
func TestFail(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	broken := errors.New("interrupted (9)")
	assert.OK(t, fail(ctx, "x", nil))
	assert.Is(t, fail(ctx, "x", broken), broken)
	assert.Equal(t, fail(ctx, "x", broken).Error(), "sqlstore: x: interrupted (9)")
	cancel()
	assert.OK(t, fail(ctx, "x", nil))
	assert.Is(t, fail(ctx, "x", broken), context.Canceled)
}
