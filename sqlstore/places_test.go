//go:build !integration

package sqlstore_test

import "testing"

func places(*testing.T) []place { return []place{sqlitePlace()} }
