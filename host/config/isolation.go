package config

import (
	"path/filepath"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// Values of [Isolation.Kind], besides "none".
const (
	IsolationDocker   = "docker"   // in a container
	IsolationLandlock = "landlock" // confined by the kernel of Linux
)

// An Isolation says how a local server is kept from the rest of the machine, the key
// "isolation". The nil Isolation is that of "none": the server runs as this program does.
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
	i := &Isolation{}
	wrong := len(e.faults)
	e.object(f.Value, f.At, true,
		key{"kind", set(&i.Kind, e.choice("kind of isolation", IsolationDocker, IsolationLandlock, "none"))},
		key{"image", set(&i.Image, e.system)},
		key{"mounts", set(&i.Mounts, e.mounts)},
		key{"network", set(&i.Network, e.boolOf)},
		key{"args", func(n *jsonc.Node, at jsonc.Path) { i.Args = e.list(n, at, e.system) }})
	s.Isolation = i
	if len(e.faults) > wrong {
		return
	}
	switch {
	case i.Kind == "":
		e.fail(f.Offset, f.At, "has no \"kind\": write docker, landlock or none")
		return
	case i.Kind == IsolationDocker && (i.Image == "" || strings.HasPrefix(i.Image, "-")):
		e.fail(f.Offset, f.At, "has no \"image\" to run: add one, such as \"node:22-slim\"")
	}
	for key, kinds := range map[string]string{"image": "kind docker", "args": "kind docker", "mounts": "kinds docker and landlock"} {
		if m := f.Value.Member(key); m != nil && m.Value.Kind != jsonc.Null && !strings.Contains(kinds, i.Kind) {
			e.fail(m.Offset, f.At.Key(key), "is for the %s: remove it", kinds)
		}
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
		e.object(n, at, true,
			key{"path", set(&m.Path, e.mountPath)},
			key{"target", set(&m.Target, func(n *jsonc.Node, at jsonc.Path) string {
				return e.text(n, at, noNUL, func(text string) string {
					if !strings.HasPrefix(text, "/") {
						return "must be an absolute path in the container, such as /data"
					}
					return ""
				})
			})},
			key{"write", set(&m.Write, e.boolOf)})
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
	text := e.text(n, at, noNUL, required("write the folder of this machine"))
	if text == "" {
		return ""
	}
	return filepath.Clean(e.abs(text))
}
