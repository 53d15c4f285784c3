package guardhttp

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"syscall"
)

// A Refusal reports an address that must not be spoken to. Nothing was sent.
type Refusal struct {
	Origin  string // scheme and host, as far as they can be shown
	Problem string
}

func (e *Refusal) Error() string { return fmt.Sprintf("%q refused: %s", e.Origin, e.Problem) }

// A Failure reports a request without a usable answer. It shows nothing of the
// answer's body, and of the address the host only.
type Failure struct {
	Host    string
	Status  int  // of the answer, if one came
	NotSent bool // the request cannot have been received
	Err     error
}

func (e *Failure) Error() string { return e.Host + ": " + e.Err.Error() }

// Unwrap returns Err.
func (e *Failure) Unwrap() error { return e.Err }

// failure makes the error of a request that went wrong. Much of what package
// net/http reports repeats what the peer has sent, or where the request went, so
// what happened is said in other words.
func failure(to *url.URL, sent bool, status int, err error) error {
	if refused, ok := errors.AsType[*Refusal](err); ok {
		return &Refusal{Origin: originOf(to), Problem: refused.Problem}
	}
	return &Failure{Host: to.Host, Status: status, NotSent: !sent, Err: explain(err)}
}

var errBroken = errors.New("the connection broke, or what came is not HTTP")

func explain(err error) error {
	var (
		said    plainError
		name    *net.DNSError
		cert    *tls.CertificateVerificationError
		wrong   x509.HostnameError
		invalid x509.CertificateInvalidError
		unknown x509.UnknownAuthorityError
		alert   *net.OpError
		record  tls.RecordHeaderError
		number  syscall.Errno
		slow    net.Error
	)
	switch {
	case errors.As(err, &said):
		return said
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case errors.Is(err, context.DeadlineExceeded):
		return context.DeadlineExceeded
	case errors.As(err, &name) && name.IsNotFound:
		return &problem{"the name does not exist", name}
	case errors.As(err, &name):
		return &problem{"the name cannot be looked up", name}
	case errors.As(err, &wrong):
		return &problem{"the server's certificate is for another name", wrong}
	case errors.As(err, &unknown):
		return &problem{"the server's certificate is of an unknown authority", unknown}
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return &problem{"the server's certificate has expired, or is not yet valid", invalid}
	case errors.As(err, &cert):
		return &problem{"the server's certificate is not valid", cert}
	case errors.As(err, &alert) && (alert.Op == "remote error" || alert.Op == "local error"):
		return &problem{"no TLS with the server: " + alert.Err.Error(), alert.Err}
	case errors.As(err, &record):
		return &problem{"no TLS with the server", record}
	case errors.As(err, &number):
		return &problem{number.Error(), number}
	case errors.As(err, &slow) && slow.Timeout():
		return &problem{"no answer in time", os.ErrDeadlineExceeded}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &problem{"the server hung up", io.ErrUnexpectedEOF}
	}
	return errBroken // its text may have something of the answer
}

// A problem is an error in other words.
type problem struct {
	text string
	err  error
}

func (e *problem) Error() string { return e.text }
func (e *problem) Unwrap() error { return e.err }
