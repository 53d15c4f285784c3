package config

import "github.com/mcpbelt/mcpbelt/internal/secret"

// A Secret is text that must not be seen in logs, errors or JSON: whatever
// prints it gets "[redacted]". Its method Reveal returns the text itself.
type Secret = secret.Secret
