package session

import "fmt"

// A CorruptError reports a kept session that cannot be read: it was altered, or
// taken from another place. A new login replaces it. The error shows nothing of
// what is in it.
type CorruptError struct {
	// Name is the name of the record in the store.
	Name string
	// Problem says what is wrong.
	Problem string
	// Err is the driver's error, if it was the driver who noticed.
	Err error
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("session: record %q cannot be read: %s", e.Name, e.Problem)
}

// Unwrap returns Err.
func (e *CorruptError) Unwrap() error { return e.Err }
