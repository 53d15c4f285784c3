package config

import (
	"path/filepath"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// Values of [Isolation.Kind].
const (
	IsolationNone     = "none"     // the server runs as this program does
	IsolationDocker   = "docker"   // in a container
	IsolationLandlock = "landlock" // confined by the kernel of Linux
)

// An Isolation says how a local server is kept from the rest of the machine, the key
// "isolation". The nil Isolation is that of [IsolationNone].
type Isolation struct {
	Kind  string `json:"kind,omitempty"`  // one of the Isolation constants
	Image string `json:"image,omitempty"` // of docker: the image, such as "node:22-slim"
	// Mounts are the folders and files that the server may see, all others being
	// hidden (docker) or read-only (landlock).
	Mounts []Mount `json:"mounts,omitempty"`
	// Network says whether the server may use the network.
	Network bool `json:"network,omitempty"`
	// Args are further arguments of docker run, in front of the image.
	Args []string `json:"args,omitempty"`
}

// A Mount is a folder or file that an isolated server may see.
type Mount struct {
	Path   string `json:"path"`             // absolute, of this machine
	Target string `json:"target,omitempty"` // absolute, in the container; empty means Path
	Write  bool   `json:"write,omitempty"`  // the server may change it
}

// isolation reads how a local server is kept from the machine. An unknown key is a
// fault: what was meant to confine the server must not be lost.
func (e *entry) isolation(s *Server) {
	f := e.field("isolation")
	if f == nil {
		return
	}
	if s.Transport != "" && s.Transport != TransportStdio {
		e.warn(f.Offset, f.At, "has no effect on a remote server")
		return
	}
	i := &Isolation{}
	known := []string{"kind", "image", "mounts", "network", "args"}
	wrong := len(e.faults)
	var image, args, mounts *jsonc.Member
	e.members(f, known, true, func(key string, at jsonc.Path, m *jsonc.Member) {
		n := &m.Value
		switch key {
		case "kind":
			i.Kind = e.isolationKind(n, at)
		case "image":
			image = m
			i.Image, _ = e.system(n, at)
		case "mounts":
			mounts = m
			i.Mounts = e.mounts(n, at)
		case "network":
			i.Network = e.boolOf(n, at)
		case "args":
			args = m
			if e.check(n, at, jsonc.Array) {
				for j := range n.Elems {
					arg, _ := e.system(&n.Elems[j], at.Index(j))
					i.Args = append(i.Args, arg)
				}
			}
		}
	})
	s.Isolation = i
	if len(e.faults) > wrong {
		return
	}
	switch docker := i.Kind == IsolationDocker; {
	case i.Kind == "":
		e.fail(f.Offset, f.At, "has no \"kind\": write docker, landlock or none")
	case docker && (i.Image == "" || strings.HasPrefix(i.Image, "-")):
		e.fail(f.Offset, f.At, "has no \"image\" to run: add one, such as \"node:22-slim\"")
	case !docker && image != nil:
		e.fail(image.Offset, f.At.Key(image.Key), "is for the kind docker: remove it")
	case !docker && args != nil:
		e.fail(args.Offset, f.At.Key(args.Key), "is for the kind docker: remove it")
	case i.Kind == IsolationNone && mounts != nil:
		e.fail(mounts.Offset, f.At.Key(mounts.Key), "is for the kinds docker and landlock: remove it")
	}
}

func (e *entry) isolationKind(n *jsonc.Node, at jsonc.Path) string {
	if !e.check(n, at, jsonc.String) {
		return ""
	}
	switch n.Text {
	case IsolationNone, IsolationDocker, IsolationLandlock:
		return n.Text
	default:
		e.fail(n.Offset, at, "unknown kind of isolation: write docker, landlock or none")
		return ""
	}
}

// mounts reads the folders that a confined server may see. A string is a path alone.
func (e *entry) mounts(n *jsonc.Node, at jsonc.Path) []Mount {
	if !e.check(n, at, jsonc.Array) {
		return nil
	}
	var list []Mount
	for i := range n.Elems {
		n, at := &n.Elems[i], at.Index(i)
		var m Mount
		if n.Kind == jsonc.String {
			m.Path = e.mountPath(n, at)
			list = append(list, m)
			continue
		}
		e.objectMembers(n, at, []string{"path", "target", "write"}, true, func(key string, at jsonc.Path, member *jsonc.Member) {
			switch key {
			case "path":
				m.Path = e.mountPath(&member.Value, at)
			case "target":
				m.Target, _ = e.system(&member.Value, at)
				if !strings.HasPrefix(m.Target, "/") {
					e.fail(member.Value.Offset, at, "must be an absolute path in the container, such as /data")
				}
			case "write":
				m.Write = e.boolOf(&member.Value, at)
			}
		})
		if n.Kind == jsonc.Object && n.Member("path") == nil {
			e.fail(n.Offset, at, "has no \"path\": write the folder of this machine")
		}
		list = append(list, m)
	}
	return list
}

// mountPath returns n expanded as an absolute path; a relative one starts at the
// folder of the file.
func (e *entry) mountPath(n *jsonc.Node, at jsonc.Path) string {
	text, ok := e.system(n, at)
	switch {
	case !ok:
		return ""
	case strings.TrimSpace(text) == "":
		e.fail(n.Offset, at, "is empty: write the folder of this machine")
		return ""
	case !filepath.IsAbs(text):
		return filepath.Join(e.dir, text)
	default:
		return filepath.Clean(text)
	}
}
