package host

import (
	"context"
	"errors"
	"io/fs"
	"iter"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/filewatch"
)

// Follow applies a configuration again whenever it may have changed, until ctx ends,
// the host is closed, or there are no more changes. It does so in the goroutine of
// its caller and starts no other.
//
// Changes tells when: whenever it yields, load is called and what that returns is
// applied as by [Host.Apply], one after the other. [FileChanges] makes such
// changes of config files, and record.Changes of the records of a store.
// Its context ends with Follow; it must return then. What it yields are names
// for the log.
//
// If load fails, because the file is not there, or not as it should be in the midst
// of being edited, all servers go on as they are until the next change. So they do if
// an error of Apply concerns them. The host's logger is told, and done, which may be nil: what
// Apply returned, or the error of load, with an empty report.
//
// The error is that of ctx, [ErrClosed], or nil if there are no more changes.
func (h *Host) Follow(ctx context.Context, changes func(context.Context) iter.Seq[[]string], load func(context.Context) (*config.Config, error), done func(Report, error)) error {
	if err := h.made(); err != nil {
		return err
	}
	if h.isClosing() {
		return ErrClosed
	}
	if changes == nil || load == nil {
		return errors.New("host: Follow: changes and load must not be nil")
	}
	own, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(h.ctx, cancel)()
	told := changes(own)
	if told == nil {
		return errors.New("host: Follow: changes returns nil")
	}
	for names := range told {
		if own.Err() != nil {
			break
		}
		report, err := h.reload(own, names, load)
		if own.Err() != nil {
			break
		}
		if done != nil {
			done(report, err)
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if h.ctx.Err() != nil {
		return ErrClosed
	}
	return nil
}

// reload applies a configuration that may have changed.
func (h *Host) reload(ctx context.Context, names []string, load func(context.Context) (*config.Config, error)) (Report, error) {
	logger := h.opts.Client.Logger
	c, err := load(ctx)
	if err == nil && c == nil {
		err = errors.New("host: there is no configuration")
	}
	if err != nil {
		what := "host: the changed configuration is not applied: it has an error"
		if errors.Is(err, fs.ErrNotExist) {
			what = "host: the configuration is gone; its servers go on"
		}
		logger.Warn(what, "changed", names, "error", err)
		return Report{}, err
	}
	report, err := h.Apply(ctx, c)
	for server, failed := range report.Failed {
		logger.Warn("host: the configuration of a server could not be applied", "server", server, "error", failed)
	}
	if err != nil {
		return report, err
	}
	if len(report.Started)+len(report.Stopped)+len(report.Replaced)+len(report.NotAllowed) > 0 {
		logger.Info("host: configuration applied", "changed", names, "started", report.Started, "stopped", report.Stopped,
			"replaced", report.Replaced, "notAllowed", report.NotAllowed, "kept", len(report.Kept))
	}
	return report, nil
}

// FileChanges returns changes for [Host.Follow]: it yields the paths of files that have
// changed, as they were given; first all of them, since they may have changed before.
// The files are looked at once a second, and told when they were left alone from one look
// to the next, or have changed for 20 seconds. Files need not exist: one that comes or
// goes has changed. Symbolic links are followed. What changes while the consumer is busy is
// told when it asks again. Each range looks on its own, in its own goroutine, and ends with
// its context.
func FileChanges(paths ...string) func(context.Context) iter.Seq[[]string] {
	return filewatch.Changes(paths, nil)
}
