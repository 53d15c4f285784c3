package record

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcpbelt/mcpbelt/host/config"
)

// A configStore is a [Store] that reads its records as servers itself, with the places where they
// stand.
type configStore interface {
	Config(ctx context.Context, opts *config.Options) (*config.Config, error)
}

// StoreFile is the File of what was read from a [Store] that does not read its records itself.
const StoreFile = "store"

// Read returns the records of a store as servers, with references replaced. One
// that cannot be used has an Err, as in a file; paths in it start at the working
// directory.
func Read(ctx context.Context, store Store, opts *config.Options) (*config.Config, error) {
	if c, ok := store.(configStore); ok {
		return c.Config(ctx, opts)
	}
	all, err := recordsOf(ctx, store)
	if err != nil {
		return nil, err
	}
	data, err := storeText(all)
	if err != nil {
		return nil, err
	}
	o := *cmp.Or(opts, new(config.Options))
	o.Format = "mcpServers"
	c, err := config.Parse(ctx, StoreFile, data, &o)
	if err != nil {
		return nil, err
	}
	faults := slices.Clone(c.Warnings)
	for _, s := range c.Servers {
		s.Source.Line = 0
		faults = append(faults, entryErrors(s.Err)...)
	}
	for _, err := range faults {
		err.Line, err.Column = 0, 0
	}
	return c, nil
}

// ReadServer returns the server of one record, as [Read] does. No user is asked for the
// inputs of others. If there is no such record, the error is of [CodeNotFound].
func ReadServer(ctx context.Context, store Store, name string, opts *config.Options) (*config.Server, error) {
	o := *cmp.Or(opts, new(config.Options))
	o.Only = name
	c, err := Read(ctx, store, &o)
	if err != nil {
		return nil, err
	}
	for _, s := range c.Servers {
		if s.Title == name {
			return s, nil
		}
	}
	return nil, &Error{Code: CodeNotFound, Name: name}
}

// storeText writes records as a config file, in their order.
func storeText(all []Stored) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(`{"mcpServers":{`)
	for i, s := range all {
		name, err := json.Marshal(s.Record.Title)
		if err != nil {
			return nil, err
		}
		entry, err := s.Record.Entry()
		if err != nil {
			return nil, fmt.Errorf("server %q: %w", s.Record.Title, err)
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(entry)
	}
	b.WriteString("}}")
	return b.Bytes(), nil
}
