package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// The codes that a program acts upon.
const (
	hintLaunchNotAllowed = "launch_not_allowed" // the launch was not allowed, or was denied
	hintLoginRequired    = "login_required"     // the user has to log in, or it is not said which user
	hintToolsQuarantined = "tools_quarantined"  // some tools are held back
)

const (
	hintInvalidEntry         = "invalid_entry"         // the entry cannot be used, or has what looks like a mistake
	hintUnsetVariable        = "unset_variable"        // it uses a variable that is not set, or its server may lack one
	hintIsolationUnavailable = "isolation_unavailable" // the server is to be confined, and cannot be

	hintCommandNotFound      = "command_not_found"      // the program, its interpreter or its working directory is not there
	hintCommandNotExecutable = "command_not_executable" // the system does not execute the file
	hintExited               = "exited"                 // the server ended before it answered
	hintStrayOutput          = "stray_output"           // the server writes other things than messages to stdout

	hintDNS                = "dns"                 // the name has no address
	hintConnectionRefused  = "connection_refused"  // nothing listens there, or the machine does not answer
	hintTLS                = "tls"                 // there is no agreement on TLS, or the scheme is the wrong one
	hintProxy              = "proxy"               // the proxy failed
	hintCredentialsRefused = "credentials_refused" // the server does not accept the credentials (HTTP status 401)
	hintForbidden          = "forbidden"           // the credentials do not allow that (HTTP status 403)
	hintWrongPath          = "wrong_path"          // no server answers at that address by that transport
	hintWebPage            = "web_page"            // a web page answers

	hintTimeout       = "timeout"        // it took too long
	hintServerError   = "server_error"   // the server fails, breaks the connection, or wants to be asked less often
	hintProtocol      = "protocol"       // the server says what the protocol, or a limit, does not allow
	hintNoTools       = "no_tools"       // it has no tools
	hintToolsRejected = "tools_rejected" // some tools are not let in
)

// A Hint is what is probably the matter with a server, and how to cure it.
type Hint struct {
	// Code names the trouble by its cure. Codes are stable: they may be stored and compared.
	//
	// Of entries: invalid_entry, unset_variable, launch_not_allowed, isolation_unavailable,
	// login_required. Of local servers: command_not_found, command_not_executable, exited,
	// stray_output. Of remote servers: dns, connection_refused, tls, proxy, credentials_refused,
	// forbidden, wrong_path, web_page. Of all: timeout, server_error, protocol, no_tools,
	// tools_quarantined, tools_rejected.
	Code string `json:"code"`
	// Text is one or a few sentences for a person, which end with the cure. It is
	// safe to show, and has no secrets of the entry.
	Text string `json:"text"`
}

// A trouble is what is known of a server that does not work, or not well.
type trouble struct {
	entry       *config.Server
	warnings    []*config.Error // of the entry, as it is in the file now
	err         error           // nil if nothing has failed
	reached     string
	clean       *cleaner
	stderr      string // clean
	strayOutput []string
	answers     []webAnswer
	version     string // of the protocol, as the server wants it

	list []Hint
}

func newTrouble(e *config.Server, err error, clean *cleaner) *trouble {
	return &trouble{entry: e, warnings: e.Warnings, err: err, clean: clean}
}

// hint adds a hint, or what it says to the hint of that code.
func (t *trouble) hint(code string, text string) {
	text = t.clean.text(text)
	for i := range t.list {
		if h := &t.list[i]; h.Code == code {
			if !strings.Contains(h.Text, text) {
				h.Text += " " + text
			}
			return
		}
	}
	t.list = append(t.list, Hint{code, text})
}

// diagnose returns the hints that there are, from the most certain.
func (t *trouble) diagnose() []Hint {
	if t.err != nil && !t.ofEntry() {
		if t.entry.Transport == config.TransportStdio {
			t.ofCommand()
		} else {
			t.ofWeb()
		}
		t.ofProtocol()
		t.ofTime()
	}
	if len(t.strayOutput) > 0 {
		t.hint(hintStrayOutput, fmt.Sprintf("The server writes other things than messages to its standard output, such as: %q. They are skipped, but a message on the same line is lost with them. A server has to log to its standard error; look for an option that does that.", t.clean.line(t.strayOutput[0])))
	}
	for _, warning := range t.warnings { // which may be the reason for what else there is
		t.hint(hintInvalidEntry, "The entry has what looks like a mistake: "+warning.Error())
	}
	return t.list
}

// hints says what may be wrong with the tested server.
func (p *probe) hints(r *TestReport, clean *cleaner) []Hint {
	t := newTrouble(p.entry, r.Err, clean)
	t.reached, t.stderr, t.strayOutput = r.Reached, r.Stderr, r.StrayOutput
	t.answers, t.version = p.seen.answers, p.seen.version
	if r.Err == nil {
		t.ofTools(r.Tools)
	}
	return t.diagnose()
}

// ofEntry looks at troubles for which nothing was started. It reports whether there
// is one.
func (t *trouble) ofEntry() bool {
	before := len(t.list)
	for _, fault := range entryFaults(t.entry.Err) {
		if unset, ok := errors.AsType[*config.UnsetVariableError](fault); ok {
			t.hint(hintUnsetVariable, "The entry uses the environment variable "+unset.Name+", which is not set where this program runs. Set it there, or give it a value in the entry as ${"+unset.Name+":-value}. A service or an app started from a menu does not have the variables of a terminal.")
			continue
		}
		t.hint(hintInvalidEntry, "The entry cannot be used: "+fault.Error())
	}
	var isolation *host.IsolationError
	switch {
	case errors.As(t.err, new(*host.NoUserError)):
		t.hint(hintLoginRequired, "Each user has their own connection to this server, and the context names no user. Ask under a context of session.WithUser.")
	case errors.As(t.err, new(*host.LaunchNotAllowedError)):
		t.hint(hintLaunchNotAllowed, "The entry comes from a file in a project, or was added by a client of a gateway, and its server is started only when the user has looked at the exact command and allowed it. Show them what Host.PendingLaunches returns, and call Host.AllowLaunch; a changed entry has to be allowed anew. A file in a project that the program itself has named can be its own: set the Scope of Options.Config to config.ScopeProgram.")
	case errors.As(t.err, &isolation):
		t.hint(hintIsolationUnavailable, "The entry wants its server confined, and it is not started without: "+isolation.Err.Error())
	}
	return len(t.list) > before
}

// ofUsers tells why the tools are not known of a server where users have connections of
// their own.
func (t *trouble) ofUsers(logins bool) {
	if logins {
		t.hint(hintLoginRequired, fmt.Sprintf("Each user logs in at the server %q, and its tools are read with the first login: begin one, and have the user open its address in a browser.", t.entry.Name))
		return
	}
	t.hint(hintLoginRequired, fmt.Sprintf("Each user has a connection of their own to the server %q, and its tools are read for the first user that host.Host.Client or host.Host.Discover is called for: call one of them.", t.entry.Name))
}

// entryFaults returns the single faults of an entry.
func entryFaults(err error) []error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

// isFolder reports whether there is a folder at path.
func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// tookTooLong reports whether an error is one of time.
func tookTooLong(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, errTestTime) || errors.As(err, new(*mcp.TimeoutError))
}
