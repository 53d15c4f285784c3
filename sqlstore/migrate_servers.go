package sqlstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// Version 2 had a row for each server, and for each status. Since version 3 those of a
// catalogue are two records of its namespace, in the form in which package record keeps
// them: their version 1, which is not to be changed here.

type movedServers struct {
	Version int           `json:"version"`
	Servers []movedServer `json:"servers"`
	Deleted []movedServer `json:"deleted,omitempty"`
}

type movedServer struct {
	ID       string          `json:"id"`
	Revision string          `json:"revision"`
	Created  time.Time       `json:"created,omitzero"`
	Updated  time.Time       `json:"updated,omitzero"`
	Deleted  time.Time       `json:"deleted,omitzero"`
	Record   json.RawMessage `json:"record"`
}

type movedStatuses struct {
	Version int                    `json:"version"`
	Servers map[string]movedStatus `json:"servers"`
}

type movedStatus struct {
	Status    string    `json:"status"`
	Error     string    `json:"error,omitempty"`
	Connected time.Time `json:"connected,omitzero"`
	Tools     int       `json:"tools"`
}

// moveServers makes records of the rows of servers and of their statuses.
func moveServers(ctx context.Context, d *Database, tx *sql.Tx) error {
	servers := map[string]*movedServers{}
	err := d.each(ctx, tx, `SELECT seq, catalogue, data, revision, created_ns, updated_ns, deleted_ns FROM {p}servers ORDER BY deleted_ns, seq`, func(rows *sql.Rows) error {
		var seq, created, updated, deleted int64
		var catalogue string
		var data []byte
		var s movedServer
		if err := rows.Scan(&seq, &catalogue, &data, &s.Revision, &created, &updated, &deleted); err != nil {
			return err
		}
		if !json.Valid(data) {
			return fmt.Errorf("server %d of the catalogue %q is damaged: mend or delete its row", seq, catalogue)
		}
		s.ID, s.Record = "~"+strconv.FormatInt(seq, 10), data
		s.Created, s.Updated, s.Deleted = timeOf(created), timeOf(updated), timeOf(deleted)
		all := servers[catalogue]
		if all == nil {
			all = &movedServers{Version: 1}
			servers[catalogue] = all
		}
		if deleted == 0 {
			all.Servers = append(all.Servers, s)
		} else {
			all.Deleted = append(all.Deleted, s)
		}
		return nil
	})
	if err != nil {
		return err
	}
	statuses := map[string]*movedStatuses{}
	err = d.each(ctx, tx, `SELECT catalogue, name, status, error, connected_ns, tools FROM {p}statuses`, func(rows *sql.Rows) error {
		var catalogue, name string
		var connected int64
		var s movedStatus
		if err := rows.Scan(&catalogue, &name, &s.Status, &s.Error, &connected, &s.Tools); err != nil {
			return err
		}
		s.Connected = timeOf(connected)
		if statuses[catalogue] == nil {
			statuses[catalogue] = &movedStatuses{1, map[string]movedStatus{}}
		}
		statuses[catalogue].Servers[name] = s
		return nil
	})
	if err != nil {
		return err
	}
	for catalogue, all := range servers {
		if err := d.insert(ctx, tx, catalogue, "servers", all); err != nil {
			return err
		}
	}
	for catalogue, all := range statuses {
		if err := d.insert(ctx, tx, catalogue, "statuses", all); err != nil {
			return err
		}
	}
	return nil
}

// timeOf reads a time that was kept; zero is none.
func timeOf(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}

// each calls scan for each row of a query.
func (d *Database) each(ctx context.Context, tx *sql.Tx, query string, scan func(*sql.Rows) error) error {
	rows, err := tx.QueryContext(ctx, d.sql(query))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// insert keeps a value as JSON.
func (d *Database) insert(ctx context.Context, tx *sql.Tx, namespace, name string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, d.sql(`INSERT INTO {p}records (namespace, name, data, revision) VALUES (?, ?, ?, ?)`),
		namespace, name, data, rand.Text())
	return err
}
