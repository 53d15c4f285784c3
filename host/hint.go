package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/mcp"
)

// A HintCode names a usual trouble with a server. Codes are stable: they may be
// stored and compared.
type HintCode string

// The codes of entries and of what may be started.
const (
	HintInvalidEntry HintCode = "invalid_entry"         // the entry cannot be used
	HintUnset        HintCode = "unset_variable"        // it uses a variable that is not set
	HintUnapproved   HintCode = "unapproved"            // nobody has approved the start, or it was rejected
	HintIsolation    HintCode = "isolation_unavailable" // it is to be confined, and cannot be
	HintNoUser       HintCode = "no_user"               // it is not said for which user to connect
	HintEntryWarning HintCode = "entry_warning"         // something in the entry looks like a mistake
)

// The codes of local servers.
const (
	HintNoFolder       HintCode = "cwd_missing"            // the working directory is not there
	HintNotFound       HintCode = "command_not_found"      // there is no such program
	HintElsewhere      HintCode = "command_not_in_path"    // there is one, where PATH does not lead
	HintIsFolder       HintCode = "command_is_folder"      // the command is a folder
	HintNotExecutable  HintCode = "command_not_executable" // the file may not be executed
	HintInterpreter    HintCode = "bad_interpreter"        // what would run the script is missing
	HintArchitecture   HintCode = "wrong_architecture"     // the program is for another machine
	HintWindowsScript  HintCode = "windows_script"         // on Windows it is a script, and wants another command
	HintExited         HintCode = "exited"                 // it ended before it answered
	HintEnvironment    HintCode = "environment"            // it may lack a variable that it does not get
	HintContainer      HintCode = "container_failed"       // the container was not started
	HintNoise          HintCode = "stdout_noise"           // it writes other things than messages to stdout
	HintFirstRun       HintCode = "first_run"              // it may be downloading itself
	HintNotMCP         HintCode = "not_mcp"                // it does not speak MCP
	HintTimeout        HintCode = "timeout"                // it took too long
	HintConnectionLost HintCode = "connection_lost"        // the connection broke
)

// The codes of remote servers.
const (
	HintDNS            HintCode = "dns"                   // the name has no address
	HintRefused        HintCode = "connection_refused"    // nobody listens there
	HintUnreachable    HintCode = "unreachable"           // the machine does not answer
	HintTLSAuthority   HintCode = "tls_unknown_authority" // nobody known vouches for the certificate
	HintTLSExpired     HintCode = "tls_expired"           // the certificate is out of date, or the clock is
	HintTLSName        HintCode = "tls_wrong_name"        // the certificate is for another name
	HintTLS            HintCode = "tls"                   // TLS failed in another way
	HintWantsHTTP      HintCode = "http_on_https"         // https, and the server speaks plain http
	HintWantsHTTPS     HintCode = "https_on_http"         // http, and the server speaks https
	HintProxy          HintCode = "proxy"                 // it is the proxy that failed
	HintLogin          HintCode = "login_required"        // the user has to log in
	HintToken          HintCode = "credentials_refused"   // what was sent to be let in is no good
	HintForbidden      HintCode = "forbidden"             // who is let in may not do that
	HintWrongPath      HintCode = "wrong_path"            // no MCP at that path
	HintWrongTransport HintCode = "wrong_transport"       // the server speaks another transport
	HintWebPage        HintCode = "web_page"              // a web page answers
	HintRedirect       HintCode = "redirect"              // the server is elsewhere
	HintServerError    HintCode = "server_error"          // the server fails
	HintBusy           HintCode = "rate_limited"          // the server wants to be left alone for a while
	HintStatus         HintCode = "http_status"           // another HTTP status that is no answer
)

// The codes of the protocol.
const (
	HintVersion     HintCode = "protocol_version"    // client and server have no revision in common
	HintBadAnswer   HintCode = "invalid_answer"      // the server says what the protocol does not allow
	HintBadTools    HintCode = "invalid_tools"       // its list of tools cannot be read
	HintLimit       HintCode = "limit"               // it sent more than is allowed
	HintNoTools     HintCode = "no_tools"            // it has no tools
	HintQuarantined HintCode = "tools_need_approval" // some tools wait for approval
	HintRejected    HintCode = "tools_rejected"      // some tools are not let in
	HintServerSaid  HintCode = "server_refused"      // the server answered with an error of its own
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

// hint adds a hint, unless there is one of the code.
func (t *trouble) hint(code HintCode, text string) {
	for _, h := range t.list {
		if h.Code == code {
			return
		}
	}
	t.list = append(t.list, Hint{code, t.clean.text(text)})
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
		t.hint(HintEntryWarning, "The entry has what looks like a mistake: "+strings.Join(all, "; "))
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
			t.hint(HintUnset, "The entry uses the environment variable "+unset.Name+", which is not set where this program runs. Set it there, or give it a value in the entry as ${"+unset.Name+":-value}. A service or an app started from a menu does not have the variables of a terminal.")
			continue
		}
		t.hint(HintInvalidEntry, "The entry cannot be used: "+fault.Error())
	}
	var unapproved *UnapprovedError
	var isolation *IsolationError
	var nobody *NoUserError
	switch {
	case errors.As(t.err, &nobody):
		t.hint(HintNoUser, "Each user has a connection of his own to this server, and nobody said for whom to make one. Ask under a context of session.WithUser.")
	case errors.As(t.err, &unapproved):
		t.hint(HintUnapproved, "The entry comes from a file in a project, and its server is started only when the user has looked at the exact command and approved it. Show them what Host.Pending returns, and call Host.Approve; approve it anew when it has changed. A file that the program itself has named can be its own: set the Scope of Options.Config to config.ScopeProgram.")
	case errors.As(t.err, &isolation):
		t.hint(HintIsolation, "The entry wants its server confined, and it is not started without: "+isolation.Err.Error())
	}
	return len(t.list) > before
}

// ofUsers tells why the tools are not known of a server where users have connections of
// their own.
func (t *trouble) ofUsers(logins bool) {
	if logins {
		t.hint(HintLogin, fmt.Sprintf("Each user logs in at the server %q, and its tools are read with the first login: begin one, and have the user open its address in a browser.", t.entry.Name))
		return
	}
	t.hint(HintNoUser, fmt.Sprintf("Each user has a connection of their own to the server %q, and its tools are read for the first user for whom Host.Client or Host.Discover is called: call one of them.", t.entry.Name))
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
