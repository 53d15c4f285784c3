package consent

// A Book holds what the user has decided. All methods are safe for concurrent use.
type Book struct{}
