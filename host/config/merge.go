package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/mcpbelt/mcpbelt/internal/dialect"
)

// A Shadow is an entry that does not count because a stronger one has its name.
type Shadow struct {
	Server *Server // the entry; it must not be started
	By     *Server // the one that counts in its place
}

// String says where both stand: "github (files/user.json:3) is hidden by
// files/project.json:7".
func (s Shadow) String() string {
	return fmt.Sprintf("%s (%s) is hidden by %s", s.Server.Name, s.Server.Source, s.By.Source)
}

// LoadAll loads the files at the locations that exist, each in its scope, in its format
// if the content fits that, and with its project for ${workspaceFolder}. The other
// options count for all. A file that cannot be read, or lists no servers, does not keep
// the others from being loaded: the error joins one [*Error] for each such file. A
// settings.json, which need not list servers at all, is left out without a word if it
// does not.
func LoadAll(ctx context.Context, locations []Location, opts *Options) ([]*Config, error) {
	var list []*Config
	var errs []error
	for _, location := range locations {
		if !location.Exists {
			continue
		}
		o := *cmp.Or(opts, new(Options))
		o.Format, o.usual, o.Scope = "", location.Format, location.Scope
		if location.Project != "" {
			o.Project = location.Project
		}
		c, err := Load(ctx, location.Path, &o)
		switch {
		case errors.As(err, new(*NoServersError)): // nothing to load, and nothing wrong
		case err != nil:
			errs = append(errs, err)
		default:
			list = append(list, c)
		}
	}
	return list, errors.Join(errs...)
}

// Merge puts what several files say together: of entries of one name, that of the
// stronger [Scope] counts, and within a scope that of the earlier config. An entry that
// is switched off or has an Err counts too: it hides the weaker ones, so that they can
// be switched off. [Config.Shadowed] has those that are hidden, with their places. A host
// runs a hidden one, if that is sound and switched on, as long as what hides it waits for
// approval or was rejected.
//
// The new config has no Path and no Format. It shares the servers with the old ones,
// which must not be changed. Nil configs are left out.
func Merge(configs ...*Config) *Config {
	merged := &Config{}
	var all []*Server
	for _, c := range configs {
		if c == nil {
			continue
		}
		all = append(all, c.Servers...)
		merged.Shadowed = append(merged.Shadowed, c.Shadowed...)
		merged.Skipped = append(merged.Skipped, c.Skipped...)
		merged.Warnings = append(merged.Warnings, c.Warnings...)
	}
	slices.SortStableFunc(all, func(a, b *Server) int { return cmp.Compare(a.Source.Scope.rank(), b.Source.Scope.rank()) })
	taken := make(map[string]*Server, len(all))
	var nameless []*Server
	for _, s := range all {
		switch by := taken[s.Name]; {
		case dialect.Sanitize(s.Title) != s.Name:
			nameless = append(nameless, s) // its name was only given for lack of a good one
		case by != nil:
			merged.Shadowed = append(merged.Shadowed, Shadow{Server: s, By: by})
		default:
			taken[s.Name] = s
			merged.Servers = append(merged.Servers, s)
		}
	}
	for _, s := range nameless {
		if taken[s.Name] != nil {
			renamed := *s
			for i := 2; taken[renamed.Name] != nil; i++ {
				renamed.Name = fmt.Sprintf("%.*s_%d", dialect.MaxName-10, s.Name, i)
			}
			s = &renamed
		}
		taken[s.Name] = s
		merged.Servers = append(merged.Servers, s)
	}
	// By of a shadow may be hidden itself by now.
	for i := range merged.Shadowed {
		if by := taken[merged.Shadowed[i].By.Name]; by != nil {
			merged.Shadowed[i].By = by
		}
	}
	return merged
}

// layers puts the entries of the sections of one file, strongest first, into one
// list, and apart those that a stronger section hides.
func layers(sections []dialect.Section) (found, hidden []dialect.Entry) {
	taken := make(map[string]int)
	for i, section := range sections {
		for _, e := range section.Entries {
			if by, ok := taken[e.Title]; ok && by < i && e.Fault == nil {
				hidden = append(hidden, e)
				continue
			}
			taken[e.Title] = i
			found = append(found, e)
		}
	}
	return found, hidden
}
