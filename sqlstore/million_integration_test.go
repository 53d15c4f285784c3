//go:build integration

package sqlstore_test

import (
	"fmt"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/pgtest"
	"github.com/mcpbelt/mcpbelt/sqlstore"
)

// BenchmarkLoadOfMillion loads sessions from a table of a million, of 1 KB each, in no order:
//
//	go test -tags integration -run '^$' -bench LoadOfMillion -benchtime 20000x ./
func BenchmarkLoadOfMillion(b *testing.B) {
	const sessions = 1_000_000
	p := postgresPlace(pgtest.New(b).URL)
	db, prefix, _ := p.fresh(b)
	d := mustNew(b, db, p.dialect, &sqlstore.Options{Prefix: prefix})
	assert.OK(b, d.Migrate(b.Context()))
	for _, query := range []string{
		fmt.Sprintf(`INSERT INTO %srecords SELECT 'sessions', 's-' || md5(i::text), decode(repeat(md5(i::text), 32), 'hex') || decode(repeat(md5(i::text), 32), 'hex'), md5(i::text)
			FROM generate_series(0, %d) i`, prefix, sessions-1),
		"VACUUM ANALYZE " + prefix + "records",
	} {
		assert.Value(db.ExecContext(b.Context(), query))(b)
	}
	rows := assert.Value(db.QueryContext(b.Context(), `SELECT 's-' || md5((random() * 999999)::int::text) FROM generate_series(1, 20000)`))(b)
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		assert.OK(b, rows.Scan(&name))
		names = append(names, name)
	}
	s := d.Store("sessions")
	for i := 0; b.Loop(); i++ {
		assert.Value(s.Load(b.Context(), names[i%len(names)], ""))(b)
	}
}
