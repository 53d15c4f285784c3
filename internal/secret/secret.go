// Package secret holds text that must not be seen in logs, errors or JSON.
package secret

import (
	"fmt"
	"io"
	"log/slog"
)

// A Secret is text that prints as "[redacted]". (Package fmt cannot ask values in
// unexported struct fields how they want to be printed: keep a Secret in exported ones.)
type Secret string

const redacted = "[redacted]"

// Reveal returns the text itself.
func (s Secret) Reveal() string { return string(s) }

// String returns "[redacted]".
func (Secret) String() string { return redacted }

// GoString returns "[redacted]".
func (Secret) GoString() string { return redacted }

// Format prints "[redacted]" for every verb.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// LogValue implements [slog.LogValuer].
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalJSON returns "[redacted]" in quotes.
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// MarshalText returns "[redacted]".
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }
