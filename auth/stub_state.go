package auth

import "errors"

// StateOf returns the state of a callback.
func StateOf(callback string) (string, error) { return "", errors.New("not implemented") }
