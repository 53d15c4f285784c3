package sqlstore_test

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/record"
	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/sqlstore"
)

// mateClaw is the table as MateClaw documents it.
const mateClaw = `CREATE TABLE mate_mcp_server (id BIGINT PRIMARY KEY, name VARCHAR(128), description TEXT, transport VARCHAR(32) DEFAULT 'stdio',
	url VARCHAR(512), headers_json TEXT, command VARCHAR(512), args_json TEXT, env_json TEXT, cwd VARCHAR(512), enabled BOOLEAN DEFAULT TRUE,
	connect_timeout_seconds INT DEFAULT 30, read_timeout_seconds INT DEFAULT 30, last_status VARCHAR(32) DEFAULT 'disconnected', last_error TEXT,
	last_connected_time TIMESTAMP, tool_count INT DEFAULT 0, builtin BOOLEAN DEFAULT FALSE, create_time TIMESTAMP, update_time TIMESTAMP, deleted INT DEFAULT 0)`

// The servers of a database of MateClaw become records, and those that cannot are named.
func TestReadMateClaw(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		db, _, _ := p.fresh(t)
		_, _ = db.ExecContext(t.Context(), "DROP TABLE IF EXISTS mate_mcp_server")
		t.Cleanup(func() { _, _ = db.ExecContext(context.Background(), "DROP TABLE mate_mcp_server") })
		for _, statement := range []string{
			mateClaw,
			`INSERT INTO mate_mcp_server (id, name, description, command, args_json, env_json, cwd, url, builtin) VALUES
				(1915000000000000001, 'file system', 'Files', 'npx', '["-y", "files"]', '{"KEY": "${KEY}"}', '/', '', TRUE)`,
			`INSERT INTO mate_mcp_server (id, name, transport, url, headers_json, command, enabled, connect_timeout_seconds, read_timeout_seconds)
				VALUES (2, 'remote', 'streamable_http', 'https://a.example/mcp', '{"Authorization": "Bearer secret"}', 'old', FALSE, 15, 60)`,
			`INSERT INTO mate_mcp_server (id, name, command, deleted) VALUES (3, 'gone', 'x', 1)`,
			`INSERT INTO mate_mcp_server (id, name, command, env_json) VALUES (4, 'bad', 'x', '{"KEY": "secret')`,
			`INSERT INTO mate_mcp_server (id, name, transport) VALUES (5, 'pigeon', 'pigeon')`,
		} {
			assert.Value(db.ExecContext(t.Context(), statement))(t)
		}
		got, err := sqlstore.ReadMateClaw(t.Context(), db, "")
		assert.Contains(t, fmt.Sprint(err), "ID 4: env_json")
		assert.Contains(t, fmt.Sprint(err), "ID 5")
		assert.Lacks(t, fmt.Sprint(err), "secret")
		want := []*record.Record{
			{Name: "remote", Transport: "http", URL: "https://a.example/mcp", Headers: map[string]config.Secret{"Authorization": "Bearer secret"},
				Disabled: true, ConnectTimeout: 15 * time.Second, ReadTimeout: time.Minute},
			{Name: "file system", Description: "Files", Transport: "stdio", Command: "npx", Args: []string{"-y", "files"},
				Env: map[string]config.Secret{"KEY": "${KEY}"}, Cwd: "/", ConnectTimeout: 30 * time.Second, ReadTimeout: 30 * time.Second},
		}
		assert.Equal(t, encoded(t, got), encoded(t, want))
		_, err = sqlstore.ReadMateClaw(t.Context(), db, "none")
		assert.Fails(t, err, "a table that is not there")
		_, err = sqlstore.ReadMateClaw(t.Context(), db, "a; DROP TABLE b")
		assert.Contains(t, fmt.Sprint(err), "name", "a name that is none")
	})
}

func encoded(t *testing.T, records []*record.Record) string {
	t.Helper()
	text := ""
	for _, r := range records {
		text += string(assert.Value(r.Encode())(t)) + "\n"
	}
	return text
}

// Programs that read MateClaw's table read the view in its place.
func TestMateClawView(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		db, prefix, _ := p.fresh(t)
		var o *sqlstore.Options
		if prefix != "" {
			o = &sqlstore.Options{Prefix: prefix}
		}
		d := mustNew(t, db, p.dialect, o)
		assert.OK(t, d.Migrate(t.Context()))
		const namespace = "the host's"
		view := prefix + "view"
		for range 2 { // the second replaces the first
			assert.OK(t, d.CreateMateClawView(t.Context(), view, namespace))
		}
		t.Cleanup(func() { _, _ = db.ExecContext(context.Background(), "DROP VIEW "+view) })
		read := func() string {
			rows := assert.Value(db.QueryContext(t.Context(), `SELECT id, name, COALESCE(description, ''), transport, COALESCE(url, ''), COALESCE(headers_json, ''), COALESCE(command, ''),
				COALESCE(args_json, ''), COALESCE(env_json, ''), COALESCE(cwd, ''), enabled, connect_timeout_seconds, read_timeout_seconds, last_status,
				COALESCE(last_error, ''), last_connected_time IS NOT NULL, tool_count, builtin, create_time IS NOT NULL, update_time IS NOT NULL, deleted
				FROM `+view+` ORDER BY deleted, name`))(t)
			defer rows.Close()
			text := ""
			for rows.Next() {
				var id, name, description, transport, url, headers, command, args, env, cwd, status, failed string
				var enabled, connected, builtin, created, updated bool
				var connect, read float64
				var tools, deleted int
				assert.OK(t, rows.Scan(&id, &name, &description, &transport, &url, &headers, &command, &args, &env, &cwd, &enabled, &connect, &read,
					&status, &failed, &connected, &tools, &builtin, &created, &updated, &deleted))
				text += fmt.Sprintln(strings.HasPrefix(id, "~"), name, description, transport, url, headers, command, args, env, cwd, enabled, connect, read, status, failed, connected, tools, builtin, created, updated, deleted)
			}
			assert.OK(t, rows.Err())
			return text
		}
		assert.Equal(t, read(), "", "without records")
		store := record.NewStore(d.Store(namespace), "servers")
		for _, r := range []*record.Record{
			{Name: "a b", Description: "It's", Command: "npx", Args: []string{"-y"}, Env: map[string]config.Secret{"K": "v"}, Cwd: "/", Builtin: true},
			{Name: "far", Transport: "http", URL: "https://a.example", Headers: map[string]config.Secret{"H": "v"}, Disabled: true, ConnectTimeout: 1500 * time.Millisecond, ReadTimeout: 5 * time.Second},
			{Name: "gone", URL: "https://b.example"},
		} {
			assert.Value(record.Add(t.Context(), store, r))(t)
		}
		assert.Value(record.Remove(t.Context(), store, "gone"))(t)
		assert.OK(t, record.NewStatuses(d.Store(namespace), "statuses").SaveStatuses(t.Context(), map[string]record.LastStatus{
			"a_b": {Status: record.StatusConnected, Connected: time.Now(), Tools: 7}, "far": {Status: record.StatusError, Error: "NUL \x00"},
		}))
		nul := map[sqlstore.Dialect]string{sqlstore.SQLite: "\x00", sqlstore.PostgreSQL: "\ufffd"}[p.dialect]
		want := `true a b It's stdio   npx ["-y"] {"K":"v"} / true 30 60 connected  true 7 true true true 0
true far  streamable_http https://a.example {"H":"v"}     false 1.5 5 error NUL ` + nul + ` false 0 false true true 0
true gone  auto https://b.example      true 30 60 disconnected  false 0 false true true 1
`
		assert.Equal(t, read(), want)
		assert.Fails(t, d.CreateMateClawView(t.Context(), cmp.Or(prefix, "mcpbelt_")+"records", namespace), "a view in the place of a table")
	})
}
