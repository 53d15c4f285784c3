package sqlstore

import (
	"errors"
	"strings"
)

// The result codes of SQLite that say that others hold a lock, see
// https://www.sqlite.org/rescode.html. The lower byte of an extended code is the
// code.
const (
	codeBusy   = 5
	codeLocked = 6
)

// isBusy reports whether SQLite is locked by others. The drivers have no common error:
// that of modernc.org/sqlite has a method for the code; of the others, the text is
// SQLite's own and has not changed in twenty years.
func isBusy(err error) bool {
	var coded interface{ Code() int }
	if errors.As(err, &coded) {
		code := coded.Code() & 0xff
		return code == codeBusy || code == codeLocked
	}
	return err != nil && (strings.Contains(err.Error(), "database is locked") || strings.Contains(err.Error(), "database table is locked"))
}
