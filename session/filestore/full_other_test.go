//go:build !linux

package filestore

import "errors"

func writeTooMuch(*folder) error { return errors.New("only on Linux") }
