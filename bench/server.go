package main

import (
	"encoding/json"
	"os"
	"runtime"

	"github.com/mcpbelt/mcpbelt/internal/benchprocess"
)

// roleServer makes a process the neutral server.
const roleServer = "serve"

// A serverSpec says what server a process is to be.
type serverSpec struct {
	Procs, Tools int
	HTTP         bool // and not stdio
}

// args are the arguments of this program to be the server.
func (s serverSpec) args(http bool) []string {
	s.HTTP = http
	return []string{roleServer, toJSON(s)}
}

// toJSON returns what a process of this program is told.
func toJSON(v any) string {
	text, _ := json.Marshal(v) // of strings and numbers
	return string(text)
}

func runServer(told string) error {
	var s serverSpec
	if err := json.Unmarshal([]byte(told), &s); err != nil {
		return err
	}
	runtime.GOMAXPROCS(s.Procs)
	n, err := newNeutral(s.Tools)
	switch {
	case err != nil:
		return err
	case s.HTTP:
		return benchprocess.Serve(os.Stdin, os.Stdout, "", n.handler())
	}
	return n.serveLines(os.Stdin, os.Stdout)
}
