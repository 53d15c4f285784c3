// Package filewatch tells when config files have changed, so that a host can
// follow them:
//
//	load := func(ctx context.Context) (*config.Config, error) { return config.Load(ctx, path, nil) }
//	err := h.Follow(ctx, filewatch.Files([]string{path}, nil), load, nil)
//
// # What counts as a change
//
// That the content of a file is another one, or that the file came or went, however
// that was done: written in place, replaced by renaming, by another target of a
// symbolic link anywhere in its path, as Kubernetes does with its volumes, or with
// the folders above it. A file that is touched or written again with the same content
// has not changed, unless that happens while the last change is being read: what was
// read then may be anything.
//
// # Half-written files
//
// A change is told when the files were left alone for a moment, see
// [Options].Quiet, so that what is written piece by piece is read when it is whole.
//
// # How it is found out
//
// The folders are watched by what the operating system offers for that. In addition
// the files are looked at every few seconds: notification does not reach everything,
// such as what other machines do on network file systems, and it may be used up.
package filewatch
