package auth

import "github.com/mcpbelt/mcpbelt/internal/secret"

// A Secret is text that must not be seen in logs, errors or JSON, such as a
// token: whatever prints it gets "[redacted]". Its method Reveal returns the text
// itself.
type Secret = secret.Secret
