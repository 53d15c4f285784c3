package cli

import (
	"fmt"
	"strings"
)

// An Exit is the status that the program ends with.
type Exit int

// The exits. Scripts depend on the numbers: one that was released never changes.
const (
	OK             Exit = 0
	Failed         Exit = 1
	Usage          Exit = 2
	NotFound       Exit = 3
	NotSent        Exit = 4
	ToolError      Exit = 5
	OutcomeUnknown Exit = 6
	LoginNeeded    Exit = 7
	ApprovalNeeded Exit = 8
	InvalidConfig  Exit = 9
	Changed        Exit = 10
	Unreachable    Exit = 11
	NotAccepted    Exit = 12
	Unhealthy      Exit = 13
	Declined       Exit = 14
	InputNeeded    Exit = 15

	DatabaseUnusable Exit = 16

	HungUp      Exit = 129
	Interrupted Exit = 130
	PipeClosed  Exit = 141
	Terminated  Exit = 143
)

// An ExitInfo says what an exit means.
type ExitInfo struct {
	Exit    Exit
	Code    string // its name in JSON
	Meaning string
}

// Exits returns the table of all exits, in the order of their numbers.
func Exits() []ExitInfo {
	return []ExitInfo{
		{OK, "ok", "The command did what it was asked."},
		{Failed, "failed", "It failed for a reason that has no number of its own."},
		{Usage, "usage", "The command line, or the arguments of a tool, are not right. Nothing was done."},
		{NotFound, "not_found", "There is no server, tool or other thing of that name."},
		{NotSent, "not_sent", "The server could not be started or reached, or did not take the request. Nothing ran: it is safe to try again."},
		{ToolError, "tool_error", "The tool ran and reported an error, or the server answered with one."},
		{OutcomeUnknown, "outcome_unknown", "The answer was lost. The tool may have run: look before you try again."},
		{LoginNeeded, "login_needed", "The user has to log in at the server."},
		{ApprovalNeeded, "approval_needed", "A launch, a tool or a call waits for a person who allows, accepts or approves it. Nothing ran."},
		{InvalidConfig, "invalid_config", "A config file, or the entry of a server, cannot be used."},
		{Changed, "changed", "A server offers something else than was accepted."},
		{Unreachable, "unreachable", "A server that was to be looked at could not be reached."},
		{NotAccepted, "not_accepted", "A server or a tool was never accepted."},
		{Unhealthy, "unhealthy", "A server that was looked at does not work."},
		{Declined, "declined", "The user said no."},
		{InputNeeded, "input_needed", "The server wants to ask the user, or a model, and there is no terminal to do so at."},
		{DatabaseUnusable, "database_unusable", "The database of --database is away or locked, was made by a newer release or with another key, or is none."},
		{HungUp, "hung_up", "The terminal was closed (SIGHUP)."},
		{Interrupted, "interrupted", "The user pressed Ctrl-C (SIGINT)."},
		{PipeClosed, "pipe_closed", "The reader of the output went away (SIGPIPE)."},
		{Terminated, "terminated", "The program was told to end (SIGTERM)."},
	}
}

// Code returns the name of the exit in JSON.
func (x Exit) Code() string {
	for _, i := range Exits() {
		if i.Exit == x {
			return i.Code
		}
	}
	return "failed"
}

// ExitTable returns the table of all exits as Markdown, for the page of the command line.
func ExitTable() string {
	var b strings.Builder
	b.WriteString("| exit | code | meaning |\n|---:|---|---|\n")
	for _, i := range Exits() {
		fmt.Fprintf(&b, "| %d | `%s` | %s |\n", i.Exit, i.Code, i.Meaning)
	}
	return b.String()
}

// ExitHelp returns the table of all exits as text for a terminal.
func ExitHelp() string {
	var b strings.Builder
	for _, i := range Exits() {
		fmt.Fprintf(&b, "%4d  %s\n      %s\n", i.Exit, i.Code, i.Meaning)
	}
	return b.String()
}
