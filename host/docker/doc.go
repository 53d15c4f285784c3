// Package docker confines the local servers of a host in containers. A host does so by
// itself where an entry wants it:
//
//	{"command": "npx", "args": ["notes-server"], "isolation": {"kind": "docker", "image": "node:22-slim"}}
//
// Another program than docker, such as podman, is set by an option:
//
//	host.Options{Isolators: map[string]host.Isolator{
//		config.IsolationDocker: &docker.Isolator{Program: "podman"},
//	}}
package docker
