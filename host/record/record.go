package record

import (
	"cmp"
	"errors"
	"reflect"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/internal/dialect"
)

var errNoRecord = errors.New("record: the record is nil")

// Of returns a server as a record: a copy with what its entry says, and neither where that stands
// nor what is wrong with it. The Title is the Name where there is none, and the Name that of the
// server that the record becomes. It is what was written if the server was read so, see
// [config.Options].AsWritten; else references are replaced in it. Of nil it is nil.
func Of(s *config.Server) *config.Server {
	if s == nil {
		return nil
	}
	s = s.Clone()
	r := &config.Server{Extra: s.Extra}
	for i, fields := 0, reflect.TypeFor[config.Server](); i < fields.NumField(); i++ {
		if fields.Field(i).Tag.Get("key") != "" {
			reflect.ValueOf(r).Elem().Field(i).Set(reflect.ValueOf(s).Elem().Field(i))
		}
	}
	return called(r, cmp.Or(s.Title, s.Name))
}

// called gives a record its name.
func called(r *config.Server, title string) *config.Server {
	r.Title, r.Name = title, dialect.ServerName(title)
	return r
}
