// Package docker confines the local servers of a host in containers, where an entry wants it:
//
//	{"command": "npx", "args": ["notes-server"], "isolation": {"kind": "docker", "image": "node:22-slim"}}
//
// The program that opens the host gives it the isolator, for docker or, with another Program,
// for podman and the like:
//
//	host.Options{Isolators: map[string]host.Isolator{
//		config.IsolationDocker: &docker.Isolator{},
//	}}
package docker
