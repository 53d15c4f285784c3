//go:build !unix

package filestore

import "os"

const noFollow = 0

// syncFolder does nothing: folders cannot be synced here.
func syncFolder(*os.Root, string) error { return nil }
