package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// A HintCode names a usual trouble with a server by its cure. Codes are stable: they may
// be stored and compared.
type HintCode string

// The codes of entries.
const (
	HintInvalidEntry         HintCode = "invalid_entry"         // the entry cannot be used, or has what looks like a mistake
	HintUnsetVariable        HintCode = "unset_variable"        // it uses a variable that is not set, or its server may lack one
	HintLaunchNotAllowed     HintCode = "launch_not_allowed"    // the launch was not allowed, or was denied
	HintIsolationUnavailable HintCode = "isolation_unavailable" // the server is to be confined, and cannot be
	HintLoginRequired        HintCode = "login_required"        // the user has to log in, or it is not said which user
)

// The codes of local servers.
const (
	HintCommandNotFound      HintCode = "command_not_found"      // the program, its interpreter or its working directory is not there
	HintCommandNotInPath     HintCode = "command_not_in_path"    // the program is where PATH does not lead
	HintCommandNotExecutable HintCode = "command_not_executable" // the system does not execute the file
	HintExited               HintCode = "exited"                 // the server ended before it answered
	HintStdoutNoise          HintCode = "stdout_noise"           // the server writes other things than messages to stdout
)

// The codes of remote servers.
const (
	HintDNS                HintCode = "dns"                 // the name has no address
	HintConnectionRefused  HintCode = "connection_refused"  // nothing listens there, or the machine does not answer
	HintTLS                HintCode = "tls"                 // there is no agreement on TLS, or the scheme is the wrong one
	HintProxy              HintCode = "proxy"               // the proxy failed
	HintCredentialsRefused HintCode = "credentials_refused" // the server does not accept the credentials (HTTP status 401)
	HintForbidden          HintCode = "forbidden"           // the credentials do not allow that (HTTP status 403)
	HintWrongPath          HintCode = "wrong_path"          // no server answers at that address by that transport
	HintWebPage            HintCode = "web_page"            // a web page answers
)

// The codes of all servers.
const (
	HintTimeout          HintCode = "timeout"           // it took too long
	HintServerError      HintCode = "server_error"      // the server fails, breaks the connection, or wants to be asked less often
	HintProtocol         HintCode = "protocol"          // the server says what the protocol, or a limit, does not allow
	HintNoTools          HintCode = "no_tools"          // it has no tools
	HintToolsQuarantined HintCode = "tools_quarantined" // some tools are held back
	HintToolsRejected    HintCode = "tools_rejected"    // some tools are not let in
	HintFewUserClients   HintCode = "few_user_clients"  // users take each other's connections
)

// A Hint is what is probably the matter with a server, and how to cure it.
type Hint struct {
	// Code says what it is.
	Code HintCode `json:"code"`
	// Text is one or a few sentences for a person, which end with the cure. It is
	// safe to show, and has no secrets of the entry.
	Text string `json:"text"`
}

// A trouble is what is known of a server that does not work, or not well. Its methods
// find out the rest: they look at files, and at nothing that could change.
type trouble struct {
	entry    *config.Server
	warnings []*config.Error // of the entry, as it is in the file now
	err      error           // nil if nothing has failed
	reached  TestStage
	clean    *cleaner
	stderr   string // clean
	noise    []string
	answers  []webAnswer
	version  string // of the protocol, as the server wants it

	goos   string
	getenv func(string) string
	home   string

	list []Hint
}

func newTrouble(e *config.Server, err error, clean *cleaner) *trouble {
	home, _ := os.UserHomeDir()
	if !filepath.IsAbs(home) {
		home = ""
	}
	return &trouble{entry: e, warnings: e.Warnings, err: err, clean: clean, goos: runtime.GOOS, getenv: os.Getenv, home: home}
}

// hint adds a hint, or what it says to the hint of that code.
func (t *trouble) hint(code HintCode, text string) {
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

// diagnose returns the hints that there are, from the most certain. Ctx bounds what is
// asked of a remote server.
func (t *trouble) diagnose(ctx context.Context) []Hint {
	if t.err != nil {
		switch {
		case t.ofEntry():
			t.ofWarnings()
			return t.list
		case t.entry.Transport == config.TransportStdio:
			t.ofCommand()
			t.ofEnvironment()
		default:
			t.ofWeb(ctx)
		}
		t.ofProtocol()
		t.ofTime()
	}
	t.ofNoise()
	t.ofWarnings()
	return t.list
}

// ofWarnings tells what looks like a mistake in the entry, which may be the reason for
// what else there is.
func (t *trouble) ofWarnings() {
	var all []string
	for _, warning := range t.warnings {
		all = append(all, warning.Error())
	}
	if len(all) > 0 {
		t.hint(HintInvalidEntry, "The entry has what looks like a mistake: "+strings.Join(all, "; "))
	}
}

// hints says what may be wrong with the tested server.
func (p *probe) hints(ctx context.Context, r *TestReport, seen *sightings, clean *cleaner) []Hint {
	t := newTrouble(p.entry, r.Err, clean)
	t.reached, t.stderr, t.noise = r.Reached, r.Stderr, r.Noise
	t.answers, t.version = seen.answers, seen.version
	if r.Err == nil {
		t.ofTools(r.Tools)
	}
	return t.diagnose(ctx)
}

// ofEntry looks at troubles for which nothing was started. It reports whether there
// is one.
func (t *trouble) ofEntry() bool {
	before := len(t.list)
	for _, fault := range entryFaults(t.entry.Err) {
		var unset *config.UnsetVariableError
		if errors.As(fault, &unset) {
			t.hint(HintUnsetVariable, "The entry uses the environment variable "+unset.Name+", which is not set where this program runs. Set it there, or give it a value in the entry as ${"+unset.Name+":-value}. A service or an app started from a menu does not have the variables of a terminal.")
			continue
		}
		t.hint(HintInvalidEntry, "The entry cannot be used: "+fault.Error())
	}
	var denied *host.LaunchNotAllowedError
	var isolation *host.IsolationError
	var noUser *host.NoUserError
	switch {
	case errors.As(t.err, &noUser):
		t.hint(HintLoginRequired, "Each user has their own connection to this server, and the context names no user. Ask under a context of session.WithUser.")
	case errors.As(t.err, &denied):
		t.hint(HintLaunchNotAllowed, "The entry comes from a file in a project, or was added by a client of a gateway, and its server is started only when the user has looked at the exact command and allowed it. Show them what Host.PendingLaunches returns, and call Host.AllowLaunch; a changed entry has to be allowed anew. A file in a project that the program itself has named can be its own: set the Scope of Options.Config to config.ScopeProgram.")
	case errors.As(t.err, &isolation):
		t.hint(HintIsolationUnavailable, "The entry wants its server confined, and it is not started without: "+isolation.Err.Error())
	}
	return len(t.list) > before
}

// ofPlaces tells that there are too few clients for the users, and how many would do.
func (t *trouble) ofPlaces(wanted int) {
	if wanted > 0 {
		t.hint(HintFewUserClients, fmt.Sprintf("More users call at the same time than there may be connections for, so that they take each other's: calls wait until one has ended and another has begun. Set MaxUserClients of host.Options to %d or more. A connection to a remote server takes about 100 KB, and one to a local server is a process.", wanted))
	}
}

// ofUsers tells why the tools are not known of a server where users have connections of
// their own.
func (t *trouble) ofUsers(logins bool) {
	if logins {
		t.hint(HintLoginRequired, fmt.Sprintf("Each user logs in at the server %q, and its tools are read with the first login: begin one, and have the user open its address in a browser.", t.entry.Name))
		return
	}
	t.hint(HintLoginRequired, fmt.Sprintf("Each user has a connection of their own to the server %q, and its tools are read for the first user that host.Host.Client or host.Host.Discover is called for: call one of them.", t.entry.Name))
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

// place returns the absolute path of what the entry names.
func (t *trouble) place(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	if t.entry.Cwd != "" {
		return filepath.Join(t.entry.Cwd, path)
	}
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// isFolder reports whether there is a folder at path.
func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// isAbsent reports whether there is nothing at path.
func isAbsent(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// tookTooLong reports whether an error is one of time.
func tookTooLong(err error) bool {
	var timeout *mcp.TimeoutError
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, errTestTime) || errors.As(err, &timeout)
}
