package belt

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/registry"
)

// An Approval is that the user wants to be asked no more about calls of a tool, as long as its server is
// the same and says the same of it. It is a file in the state folder.
type Approval string

// ApprovalOf returns the approval of a tool, empty if there is no place for it.
func (b *Belt) ApprovalOf(s *config.Server, d *registry.Definition) Approval {
	if b.Env.StateDir == "" || IsAdHoc(s) {
		return ""
	}
	key := strings.Join([]string{s.Name, s.Source.File, s.Fingerprint(), d.Origin.Tool, d.Surface().Hash}, "\x00")
	return Approval(filepath.Join(b.Env.StateDir, "approved", fmt.Sprintf("%x", sha256.Sum256([]byte(key)))))
}

// IsKept reports whether the user has given it.
func (a Approval) IsKept() bool { return a != "" && exists(string(a)) }

// Keep keeps it, where there is a place for it.
func (a Approval) Keep() error {
	if a == "" {
		return nil
	}
	err := os.MkdirAll(filepath.Dir(string(a)), 0o700)
	if err == nil {
		err = os.WriteFile(string(a), nil, 0o600)
	}
	return err
}

// Forget has the user asked again.
func (a Approval) Forget() { _ = os.Remove(string(a)) } // it may not be there
