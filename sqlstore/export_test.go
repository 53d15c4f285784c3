package sqlstore

import (
	"context"
	"time"
)

// MigrateTo makes the tables of an earlier version, as releases of that time did.
func MigrateTo(ctx context.Context, d *Database, version int) error {
	for _, query := range versionTable() {
		if _, err := d.exec(ctx, query); err != nil {
			return err
		}
	}
	return d.migrate(ctx, version)
}

// Patient has d retry for longer than other processes lock SQLite on a busy machine.
func Patient(d *Database) *Database {
	d.patience = 2 * time.Minute
	return d
}

// NeverPoll has d learn of changes by notifications alone.
func NeverPoll(d *Database) { d.poll = time.Hour }
