package consent

import "strconv"

// An Error reports a book that cannot be read or written. While it cannot be read
// nothing is approved, and what could not be written was not decided.
//
//cure:repair the file or the store that it names
type Error struct {
	File string // path of the file; empty if the book is kept elsewhere
	err  error  // what is wrong, and how to put it right
}

// Error names the file.
func (e *Error) Error() string {
	text := "consents"
	if e.File != "" {
		text += " " + strconv.Quote(e.File)
	}
	return text + ": " + e.err.Error()
}

func (e *Error) Unwrap() error { return e.err }
