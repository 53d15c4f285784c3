package session

import "fmt"

// A CorruptError reports a kept session that cannot be read: it was altered, or
// taken from another place. A [Manager] takes the user for one who is not logged
// in, and replaces it by his next login; one in a format that this program does
// not know, which a newer program may have written, stays until Forget. The error
// shows nothing of what is in it.
type CorruptError struct {
	// Name is the name of the record in the store.
	Name string
	// Problem says what is wrong.
	Problem string
	// Err is the cause, such as the driver's error; it may be nil.
	Err error
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("session: record %q cannot be read: %s", e.Name, e.Problem)
}

// Unwrap returns Err.
func (e *CorruptError) Unwrap() error { return e.Err }
