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
	if isBusy(nil) {
		t.Error("nil is busy")
	}
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
		if err != nil || tries < 5 || tries > 1000 {
			t.Errorf("%d tries, %v", tries, err)
		}
		start = time.Now()
		if err := d.retry(t.Context(), func() error { return codedError(5) }); err != codedError(5) || time.Since(start) > retryFor+time.Second || time.Since(start) < retryFor {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start = time.Now()
		if err := d.retry(ctx, func() error { return codedError(5) }); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		tries = 0
		for _, d := range []*Database{{dialect: SQLite}, {dialect: PostgreSQL}} {
			err := codedError(19)
			if d.dialect == PostgreSQL {
				err = 5
			}
			if got := d.retry(t.Context(), func() error { tries++; return err }); got != err {
				t.Errorf("%v", got)
			}
		}
		assert.Equal(t, tries, 2, "tries")
	})
}

func TestBind(t *testing.T) {
	const query = `SELECT ? FROM {p}x WHERE a = ? AND b IN (?, ?)`
	if got := (&Database{dialect: SQLite, prefix: "t_"}).sql(query); got != `SELECT ? FROM t_x WHERE a = ? AND b IN (?, ?)` {
		t.Error(got)
	}
	if got := (&Database{dialect: PostgreSQL, prefix: "s.t_"}).sql(query); got != `SELECT $1 FROM s.t_x WHERE a = $2 AND b IN ($3, $4)` {
		t.Error(got)
	}
}

// What a driver says of a context that has ended differs; the error does not.
func TestFail(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	broken := errors.New("interrupted (9)")
	if err := fail(ctx, "x", broken); !errors.Is(err, broken) || err.Error() != "sqlstore: x: interrupted (9)" || fail(ctx, "x", nil) != nil {
		t.Errorf("%v", err)
	}
	cancel()
	if err := fail(ctx, "x", broken); !errors.Is(err, context.Canceled) || fail(ctx, "x", nil) != nil {
		t.Errorf("%v", err)
	}
}
