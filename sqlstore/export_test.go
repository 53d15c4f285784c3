package sqlstore

import "time"

// Error is the error of what could not be done in the database.
type Error = databaseError

// Patient has d retry for longer than other processes lock SQLite on a busy machine.
func Patient(d *Database) *Database {
	d.patience = 2 * time.Minute
	return d
}

// NeverPoll has d learn of changes by notifications alone.
func NeverPoll(d *Database) { d.poll = time.Hour }
