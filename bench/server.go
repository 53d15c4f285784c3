package main

import (
	"errors"
	"flag"
	"os"
	"runtime"
	"strconv"
)

// roleServer makes a process the neutral server.
const roleServer = "serve"

// A serverSpec says what server a process is to be.
type serverSpec struct{ procs, tools int }

// args are the arguments of this program to be the server.
func (s serverSpec) args(protocol string) []string {
	return []string{roleServer, "-procs", strconv.Itoa(s.procs), "-tools", strconv.Itoa(s.tools), protocol}
}

func runServer(args []string) error {
	flags := flag.NewFlagSet(roleServer, flag.ContinueOnError)
	procs := flags.Int("procs", runtime.GOMAXPROCS(0), "GOMAXPROCS")
	tools := flags.Int("tools", toolCount, "how many tools it has")
	if err := flags.Parse(args); err != nil {
		return err
	}
	runtime.GOMAXPROCS(*procs)
	n, err := newNeutral(*tools)
	if err != nil {
		return err
	}
	switch flags.Arg(0) {
	case "stdio":
		return n.serveLines(os.Stdin, os.Stdout)
	case "http":
		return n.serveHTTP(os.Stdin, os.Stdout)
	default:
		return errors.New("serve what: stdio or http?")
	}
}
