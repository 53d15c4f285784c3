package belt

import (
	"cmp"
	"errors"
	"net/http"
	"strings"

	"github.com/mcpbelt/mcpbelt/auth"
	"github.com/mcpbelt/mcpbelt/cmd/mcpbelt/internal/cli"
	"github.com/mcpbelt/mcpbelt/host"
	"github.com/mcpbelt/mcpbelt/host/config"
	"github.com/mcpbelt/mcpbelt/host/consent"
	"github.com/mcpbelt/mcpbelt/mcp/failure"
	"github.com/mcpbelt/mcpbelt/registry"
	"github.com/mcpbelt/mcpbelt/registry/ledger"
	"github.com/mcpbelt/mcpbelt/transport"
)

// Explain returns an error of a server that was to be started or asked, as the user is
// told it: with its exit and its cure, and without secrets of the entry. It returns nil
// for nil. What became of a call is told by [ExplainCall].
func Explain(s *config.Server, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*cli.Error](err); ok {
		return err
	}
	e := &cli.Error{Exit: cli.NotSent, Server: s.Name, Message: strings.TrimPrefix(s.MaskError(err), "mcp: "), Cure: "mcpbelt doctor " + named(s), Err: err}
	launch, waits := errors.AsType[*host.LaunchNotAllowedError](err)
	held, quarantined := errors.AsType[*registry.QuarantinedError](err)
	changed, isOther := errors.AsType[*host.ChangedError](err)
	_, entry := errors.AsType[*config.Error](err)
	unkept, isUnkept := errors.AsType[*ledger.Error](err)
	status, unauthorized := errors.AsType[*transport.StatusError](err)
	switch {
	case waits && launch.Err == nil:
		e.Exit, e.Message, e.Cure = cli.ApprovalNeeded, "the launch of server "+quote(s.Name)+" has to be allowed", "mcpbelt allow "+s.Name
		if launch.Verdict == consent.Rejected {
			e.Message, e.Cure = "the launch of server "+quote(s.Name)+" was denied", "mcpbelt allow "+s.Name+" lets it start after all"
		}
	case quarantined, isOther, errors.Is(err, host.ErrQuarantined):
		e.Exit, e.Cure = cli.ApprovalNeeded, "mcpbelt diff "+s.Name
		if quarantined && held.Change != nil {
			e.Message = WhyHeld(held.Change)
		} else if isOther && changed.Change != nil {
			e.Message = WhyHeld(changed.Change)
		}
	case isUnkept:
		e.Exit, e.Message, e.Cure = cli.InvalidConfig, s.MaskError(unkept), "name another file with --ledger, or keep none with --no-ledger"
	case entry:
		e.Exit, e.Cure = cli.InvalidConfig, ""
	case failure.Of(err) == failure.LoginRequired, errors.Is(err, auth.ErrDeclined), unauthorized && status.Code == http.StatusUnauthorized:
		e.Exit, e.Message, e.Cure = cli.LoginNeeded, "server "+quote(s.Name)+" wants a login", "mcpbelt login "+named(s)
		credentials := s.NoLogin() != ""
		if credentials {
			e.Message, e.Cure = "server "+quote(s.Name)+" does not take the credentials of its entry", "mcpbelt get "+s.Name
		}
		if credentials && IsAdHoc(s) {
			e.Cure = "look at --key and --header"
		} else if IsAdHoc(s) {
			e.Cure += ", or --key KEY if it wants a key, as mcpbelt serve does"
		}
	}
	return e
}

// named returns how a command line names the server, with secrets masked.
func named(s *config.Server) string {
	switch masked := s.Masked(); {
	case !IsAdHoc(s):
		return s.Name
	case masked.URL != "":
		return masked.URL
	default:
		return "-- " + What(s)
	}
}

// What returns the command or the URL of a server, with secrets masked.
func What(s *config.Server) string {
	masked := s.Masked()
	return cmp.Or(masked.URL, strings.Join(append([]string{masked.Command}, masked.Args...), " "))
}

// WhyHeld says in one line why the ledger holds something back.
func WhyHeld(c *ledger.Change) string {
	tool := "tool " + quote(c.Tool) + " of server " + quote(c.Server)
	if c.Tool == "" {
		tool = "server " + quote(c.Server)
	}
	var fields []string
	for _, f := range c.Fields {
		fields = append(fields, f.Field)
	}
	where := ""
	if len(fields) > 0 {
		where = " in " + strings.Join(fields, ", ")
	}
	switch c.Kind {
	case ledger.ToolNew:
		return tool + " is new, and was not accepted"
	case ledger.ToolChanged:
		return tool + " has changed since it was accepted" + where
	case ledger.ToolRejected:
		return tool + " was rejected"
	case ledger.ToolRemoved:
		return tool + " is gone"
	case ledger.ServerChanged:
		return "the entry of server " + quote(c.Server) + " leads to another server than the one that was accepted"
	case ledger.ServerQuarantined:
		return "server " + quote(c.Server) + " is in quarantine until it is accepted"
	case ledger.InstructionsChanged:
		return "the instructions of server " + quote(c.Server) + " were not accepted as they are"
	}
	return tool + " is held back: " + string(c.Kind)
}
