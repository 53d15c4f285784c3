package config

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/mcpbelt/mcpbelt/internal/dialect"
)

// localSections marks what stands in sections for one project, and leaves out those of
// other projects and, if only that is wanted, the one for all.
func (p *parser) localSections(sections []dialect.Section, only bool) []dialect.Section {
	for _, s := range sections {
		for i := range s.Entries {
			s.Entries[i].Local = s.Project != ""
		}
	}
	return slices.DeleteFunc(sections, func(s dialect.Section) bool {
		if s.Project == "" {
			return only
		}
		return !dialect.SameFolder(s.Project, p.project)
	})
}

// checkLocal reports why the section of one project cannot be read or written.
func checkLocal(opts *Options, format string) error {
	switch {
	case opts == nil || opts.Scope != ScopeLocal:
		return nil
	case !filepath.IsAbs(opts.Project):
		return fmt.Errorf("Options.Scope is %q, which needs an absolute Options.Project", ScopeLocal)
	case format != "mcpServers":
		return fmt.Errorf("a file of the format %s has no sections for projects: use another Options.Scope than %q", format, ScopeLocal)
	}
	return nil
}
