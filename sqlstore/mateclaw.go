package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/record"
)

// mateClawTable is the table in which MateClaw keeps its servers.
const mateClawTable = "mate_mcp_server"

// nameForm is that of tables and views: of up to 63 characters, perhaps behind a schema.
var nameForm = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]{0,62}\.)?[A-Za-z_][A-Za-z0-9_]{0,62}$`)

func checkName(name string) error {
	if !nameForm.MatchString(name) {
		return fmt.Errorf("the name %q has to be of letters, digits and _", name)
	}
	return nil
}

// ReadMateClaw returns the servers that MateClaw keeps in a table, mate_mcp_server if the name is
// empty, in the order of their IDs and without those that were deleted there. It reads once and
// changes nothing. The database may be of any kind, such as MySQL; times and statuses are not taken
// over, and builtin servers are usual ones. Add each to a store by record.Add.
//
// Rows that cannot be read are left out, and named in the error with their ID and column.
func ReadMateClaw(ctx context.Context, db *sql.DB, table string) ([]*record.Record, error) {
	const op = "read the servers of MateClaw"
	if table == "" {
		table = mateClawTable
	}
	if db == nil {
		return nil, &Error{Op: op, Err: errors.New("there is no *sql.DB")}
	}
	if err := checkName(table); err != nil {
		return nil, &Error{Op: op, Err: err}
	}
	rows, err := db.QueryContext(ctx, `SELECT id, name, description, transport, url, headers_json, command, args_json, env_json, cwd,
		enabled, connect_timeout_seconds, read_timeout_seconds FROM `+table+` WHERE deleted = 0 ORDER BY id`)
	if err != nil {
		return nil, fail(ctx, op, err)
	}
	defer rows.Close()
	records := []*record.Record{}
	var bad []error
	for rows.Next() {
		var m mateClawRow
		if err := rows.Scan(&m.id, &m.name, &m.description, &m.transport, &m.url, &m.headers, &m.command, &m.args, &m.env, &m.cwd,
			&m.enabled, &m.connect, &m.read); err != nil {
			return records, fail(ctx, op, err)
		}
		r, err := m.record()
		if err == nil {
			err = r.Validate()
		}
		if err != nil {
			bad = append(bad, fmt.Errorf("the row of the ID %s: %w", m.id, err))
			continue
		}
		records = append(records, r)
	}
	if err := rows.Err(); err != nil {
		return records, fail(ctx, op, err)
	}
	return records, fail(ctx, op, errors.Join(bad...))
}

// A mateClawRow is a row of the table.
type mateClawRow struct {
	id, name                                                      string
	description, transport, url, headers, command, args, env, cwd sql.NullString
	enabled                                                       sql.NullBool
	connect, read                                                 sql.NullInt64
}

// record returns the server of a row. A row may have what is left of another transport, which
// MateClaw does not use.
func (m *mateClawRow) record() (*record.Record, error) {
	r := &record.Record{
		Name: m.name, Description: m.description.String, Disabled: m.enabled.Valid && !m.enabled.Bool,
		ConnectTimeout: time.Duration(m.connect.Int64) * time.Second, ReadTimeout: time.Duration(m.read.Int64) * time.Second,
	}
	switch t := m.transport.String; t {
	case "streamable_http":
		r.Transport = config.TransportHTTP
	case "":
		r.Transport = config.TransportStdio
	default:
		r.Transport = t // Validate says if there is none of that name
	}
	if r.Transport == config.TransportStdio {
		r.Command, r.Cwd = m.command.String, m.cwd.String
		return r, errors.Join(readColumn("args_json", m.args.String, &r.Args), readColumn("env_json", m.env.String, &r.Env))
	}
	r.URL = m.url.String
	return r, readColumn("headers_json", m.headers.String, &r.Headers)
}

// readColumn reads a column that holds JSON. Its error has nothing of what stands there.
func readColumn[T any](column, text string, to *T) error {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	if json.Unmarshal([]byte(text), to) != nil {
		return fmt.Errorf("%s is not JSON of the form that it has to have", column)
	}
	return nil
}

// CreateMateClawView makes a view with the columns of MateClaw's table of servers, over the records
// "servers" and "statuses" of a namespace, see [Database.Store], for programs that read that table. A
// view of the name is replaced; a table is not. The name is mate_mcp_server if it is empty.
//
// The view cannot be written to: change servers by package record, or by the API of package admin. IDs
// are texts, and times in UTC. It has the headers and variables of all servers as they were written, as
// the table has: let those alone read it who may read the records. SQLite has to have its JSON functions.
func (d *Database) CreateMateClawView(ctx context.Context, name, namespace string) error {
	const op = "make the view of the servers"
	if name == "" {
		name = mateClawTable
	}
	if err := checkName(name); err != nil {
		return &Error{Op: op, Err: err}
	}
	query := strings.NewReplacer("{view}", name, "{namespace}", "'"+strings.ReplaceAll(namespace, "'", "''")+"'").Replace(d.mateClawView())
	return fail(ctx, op, d.retry(ctx, func() error {
		tx, err := d.db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }() // does nothing after Commit
		if err := d.lockVersion(ctx, tx); err != nil {
			return err
		}
		for _, statement := range []string{"DROP VIEW IF EXISTS " + name, query} {
			if _, err := tx.ExecContext(ctx, strings.ReplaceAll(statement, "{p}", d.prefix)); err != nil {
				return err
			}
		}
		return tx.Commit()
	}))
}

// mateClawView returns the statement that makes the view. A status stands under the name that the
// server has in the host.
func (d *Database) mateClawView() string {
	columns := `
		CASE WHEN record_transport = 'http' THEN 'streamable_http' WHEN record_transport IS NOT NULL THEN record_transport
			WHEN command IS NOT NULL THEN 'stdio' ELSE 'auto' END AS transport,
		url, headers_json, command, args_json, env_json, cwd, enabled,
		COALESCE(connect_timeout, 30) AS connect_timeout_seconds, COALESCE(read_timeout, 60) AS read_timeout_seconds,
		COALESCE(st.status, 'disconnected') AS last_status, st.error AS last_error, st.connected AS last_connected_time,
		COALESCE(st.tools, 0) AS tool_count, builtin, create_time, update_time, deleted`
	named := `REPLACE(REPLACE(REPLACE(s.name, ' ', '_'), '.', '_'), '__', '_')`
	if d.dialect == PostgreSQL {
		// What has no character in PostgreSQL is shown by the one for that.
		document := func(name string) string {
			return `(SELECT REPLACE(convert_from(data, 'UTF8'), '\u0000', '\ufffd')::json AS j FROM {p}records WHERE namespace = {namespace} AND name = '` + name + `') r`
		}
		at := func(from string) string { return `(` + from + `)::timestamptz AT TIME ZONE 'UTC'` }
		list := func(member string, deleted int) string {
			return fmt.Sprintf(`SELECT %d AS deleted, s AS s, s->'record' AS r FROM %s, json_array_elements(j->'%s') s`, deleted, document("servers"), member)
		}
		return `CREATE VIEW {view} AS SELECT s.id, s.name, s.description, ` + columns + ` FROM (
			SELECT s->>'id' AS id, r->>'name' AS name, r->>'description' AS description, r->>'transport' AS record_transport,
				r->>'url' AS url, r->>'headers' AS headers_json, r->>'command' AS command, r->>'args' AS args_json,
				r->>'env' AS env_json, r->>'cwd' AS cwd, COALESCE((r->>'enabled')::boolean, true) AS enabled,
				(r->>'connectTimeoutSeconds')::numeric AS connect_timeout, (r->>'readTimeoutSeconds')::numeric AS read_timeout,
				COALESCE((r->>'builtin')::boolean, false) AS builtin, ` + at(`s->>'created'`) + ` AS create_time,
				` + at(`s->>'updated'`) + ` AS update_time, deleted
			FROM (` + list("servers", 0) + ` UNION ALL ` + list("deleted", 1) + `) AS records
		) s LEFT JOIN (
			SELECT key AS name, value->>'status' AS status, value->>'error' AS error,
				` + at(`value->>'connected'`) + ` AS connected, (value->>'tools')::integer AS tools
			FROM ` + document("statuses") + `, json_each(j->'servers')
		) st ON st.name = ` + named + ` AND deleted = 0`
	}
	list := func(member string, deleted int) string {
		return fmt.Sprintf(`SELECT %d AS deleted, each.value AS s FROM {p}records, json_each(CAST(data AS TEXT), '$.%s') AS each
			WHERE namespace = {namespace} AND {p}records.name = 'servers'`, deleted, member)
	}
	at := func(path string) string { return `substr(json_extract(s, '` + path + `'), 1, 19)` }
	return `CREATE VIEW {view} AS SELECT s.id, s.name, s.description, ` + columns + ` FROM (
		SELECT json_extract(s, '$.id') AS id, json_extract(s, '$.record.name') AS name, json_extract(s, '$.record.description') AS description,
			json_extract(s, '$.record.transport') AS record_transport, json_extract(s, '$.record.url') AS url,
			json_extract(s, '$.record.headers') AS headers_json, json_extract(s, '$.record.command') AS command,
			json_extract(s, '$.record.args') AS args_json, json_extract(s, '$.record.env') AS env_json, json_extract(s, '$.record.cwd') AS cwd,
			COALESCE(json_extract(s, '$.record.enabled'), 1) AS enabled, json_extract(s, '$.record.connectTimeoutSeconds') AS connect_timeout,
			json_extract(s, '$.record.readTimeoutSeconds') AS read_timeout, COALESCE(json_extract(s, '$.record.builtin'), 0) AS builtin,
			` + at("$.created") + ` AS create_time, ` + at("$.updated") + ` AS update_time, deleted
		FROM (` + list("servers", 0) + ` UNION ALL ` + list("deleted", 1) + `)
	) s LEFT JOIN (
		SELECT each.key AS name, json_extract(each.value, '$.status') AS status, json_extract(each.value, '$.error') AS error,
			substr(json_extract(each.value, '$.connected'), 1, 19) AS connected, json_extract(each.value, '$.tools') AS tools
		FROM {p}records, json_each(CAST(data AS TEXT), '$.servers') AS each
		WHERE namespace = {namespace} AND {p}records.name = 'statuses'
	) st ON st.name = ` + named + ` AND deleted = 0`
}
