package sqlstore

import "context"

// MigrateTo makes the tables of an earlier version, as releases of that time did.
func MigrateTo(ctx context.Context, d *Database, version int) error {
	for _, query := range versionTable() {
		if _, err := d.exec(ctx, query); err != nil {
			return err
		}
	}
	return d.migrate(ctx, version)
}
