package config_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/mcpbelt/mcpbelt/host/config"
)

// describe writes down what was read from a config file, or why nothing was, one thing
// a line and without what is empty, for golden files, with secrets in clear: those of
// a test are invented.
func describe(c *config.Config, err error) string {
	var b strings.Builder
	if err != nil {
		fmt.Fprintln(&b, "error", filepath.ToSlash(err.Error()))
		return b.String()
	}
	fmt.Fprintln(&b, "format", c.Format)
	for _, in := range config.InputsOf(c) {
		fmt.Fprintf(&b, "input %+v\n", in)
	}
	for _, s := range c.Servers {
		describeServer(&b, "server", s)
	}
	for _, s := range c.Shadowed {
		describeServer(&b, fmt.Sprintf("shadowed by line %d:", s.By.Source.Line), s.Server)
	}
	for _, s := range c.Skipped {
		fmt.Fprintf(&b, "skipped %q line %d: %s\n", s.Title, s.Source.Line, s.Reason)
	}
	for _, w := range c.Warnings {
		fmt.Fprintln(&b, "warning", filepath.ToSlash(w.Error()))
	}
	return b.String()
}

func describeServer(b *strings.Builder, what string, s *config.Server) {
	fmt.Fprintf(b, "%s %s line %d, enabled %v\n\t", what, s.Name, s.Source.Line, !s.Disabled)
	entry, err := s.Entry()
	var text bytes.Buffer
	if err = errors.Join(err, json.Indent(&text, entry, "\t", "\t")); err != nil {
		fmt.Fprintln(b, err)
	}
	fmt.Fprintf(b, "%q %s\n", s.Title, text.String())
	if s.Err != nil {
		fmt.Fprintf(b, "\terror: %s\n", strings.ReplaceAll(filepath.ToSlash(s.Err.Error()), "\n", "\n\terror: "))
	}
}
