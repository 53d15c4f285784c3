// Package browser opens pages in the user's browser.
package browser

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"runtime"
	"time"
)

// openTime is how long to wait for a browser's opener to fail.
const openTime = 3 * time.Second

// maxURL bounds a URL to be opened, in bytes.
const maxURL = 8 << 10

// Open opens a page by the program that the system has for that: xdg-open, open,
// or url.dll of Windows. The URL must be http or https and absolute; it is one
// argument of that program and passes through no shell. No error shows it.
//
// Open returns when the program has ended, after three seconds if it goes on, or
// when ctx ends. The program is not ended by that; one goroutine waits for its
// end.
func Open(ctx context.Context, page string) error {
	if err := openable(page); err != nil {
		return fmt.Errorf("page not opened: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("page not opened: %w", err)
	}
	name, args := opener(runtime.GOOS, page)
	program := exec.Command(name, args...) // without ctx: the browser outlives the question
	if err := program.Start(); err != nil {
		return fmt.Errorf("page not opened: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- program.Wait() }()
	timer := time.NewTimer(openTime)
	defer timer.Stop()
	select {
	case err := <-ended:
		if err != nil {
			return fmt.Errorf("page not opened: %s: %w", name, err)
		}
	case <-timer.C:
	case <-ctx.Done():
		return fmt.Errorf("page perhaps not opened: %w", ctx.Err())
	}
	return nil
}

// opener returns the program that opens a page, with its arguments.
func opener(system, page string) (name string, args []string) {
	switch system {
	case "windows":
		return "rundll32", []string{"url.dll,FileProtocolHandler", page}
	case "darwin":
		return "open", []string{page}
	}
	return "xdg-open", []string{page}
}

// openable reports why a page must not be handed to a browser.
func openable(page string) error {
	if len(page) > maxURL {
		return fmt.Errorf("longer than %d bytes", maxURL)
	}
	for _, r := range page {
		if r <= ' ' || r == '\\' || r >= 0x7f && r < 0xa0 || r == '\ufffd' {
			return errors.New("blanks, backslashes or control characters in its URL")
		}
	}
	u, err := url.Parse(page)
	switch {
	case err != nil:
		return errors.New("not a URL")
	case u.Scheme != "https" && u.Scheme != "http":
		return errors.New("neither https nor http")
	case u.Hostname() == "":
		return errors.New("no host in its URL")
	case u.User != nil:
		return errors.New("a user name in its URL")
	}
	return nil
}
