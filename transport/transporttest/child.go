package transporttest

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
	"github.com/mcpbelt/mcpbelt/transport"
)

// childVariable marks a process that RunChild must turn into a server.
const childVariable = "TRANSPORTTEST_CHILD"

// Child returns the recipe for a server that follows a script: this test
// binary, whose TestMain must call [RunChild] first. The steps are done in
// turn, after the last one the process exits with code 0:
//
//	sdk           be the server of NewServer until stdin ends
//	serve         answer each request with its own params until stdin ends
//	read          read one line
//	answer:JSON   answer the request read last with this result
//	say:TEXT      write a line to stdout; $ID stands for the id read last
//	write:TEXT    the same without a newline, and with \n, \r, \t and \u escapes
//	lines:N:TEXT  say it n times
//	big:N         answer the request read last with a string of n bytes
//	stderr:TEXT   write a line to stderr
//	flood:N       write n bytes to stderr
//	env, fds      answer the request read last with the environment, or the
//	              names of what the open files are
//	spawn:STEP    start a child in the same process group that does one step
//	              and shares stdout; write its process id to stderr
//	detach:STEP   the same in a session of its own
//	daemon:STEP   the same, by a process between that ends at once
//	escape:STEP   like detach, without the variables that the host set
//	ignoreterm    ignore SIGTERM from now on
//	ready         write the line "ready" to stderr
//	close         close stdout
//	hang          wait forever
//	term          write "ready" to stderr, wait for SIGTERM, write "terminated"
//	exit:CODE     exit
//	kill          end by SIGKILL
func Child(steps ...string) *transport.Command {
	program, err := os.Executable()
	if err != nil {
		program = os.Args[0]
	}
	return &transport.Command{Path: program, Args: steps, Env: []string{childVariable + "=1", "GORACE=atexit_sleep_ms=0"}}
}

// RunChild does nothing unless this process is a [Child]; else it follows the script, and does
// not return.
func RunChild() {
	if os.Getenv(childVariable) == "" {
		return
	}
	c := &child{in: bufio.NewReader(os.Stdin)}
	for _, step := range os.Args[1:] {
		verb, arg, _ := strings.Cut(step, ":")
		err := fmt.Errorf("unknown step")
		if do, ok := steps()[verb]; ok {
			n, _ := strconv.Atoi(arg)
			err = do(c, arg, n)
		}
		if err != nil {
			_, _ = fmt.Fprintf(os.Stderr, "step %s: %v\n", step, err)
			os.Exit(99)
		}
	}
	os.Exit(0)
}

// A child follows a script.
type child struct {
	in   *bufio.Reader
	last jsonscan.Message // that was read
}

// steps returns what a child does for each verb, with the text behind it and the number that
// the text is.
func steps() map[string]func(c *child, arg string, n int) error {
	tell := func(_ *child, arg string, _ int) error {
		_, err := fmt.Fprintln(os.Stderr, arg)
		return err
	}
	return map[string]func(c *child, arg string, n int) error{
		"sdk":    func(*child, string, int) error { return NewServer().Run(context.Background(), &sdk.StdioTransport{}) },
		"serve":  func(c *child, _ string, _ int) error { return c.serve() },
		"read":   func(c *child, _ string, _ int) error { return c.read() },
		"answer": func(c *child, arg string, _ int) error { return c.answer(arg) },
		"say":    func(c *child, arg string, _ int) error { return c.write(arg + "\n") },
		"write": func(c *child, arg string, _ int) error {
			plain, err := strconv.Unquote(`"` + strings.ReplaceAll(arg, `"`, `\"`) + `"`)
			if err != nil {
				return err
			}
			return c.write(plain)
		},
		"lines": func(c *child, arg string, _ int) error {
			count, line, _ := strings.Cut(arg, ":")
			n, _ := strconv.Atoi(count)
			return c.write(strings.Repeat(line+"\n", n))
		},
		"big":    func(c *child, _ string, n int) error { return c.answer(`"` + strings.Repeat("x", n) + `"`) },
		"env":    func(c *child, _ string, _ int) error { return c.answer(list(os.Environ())) },
		"fds":    func(c *child, _ string, _ int) error { return c.answer(list(openFiles())) },
		"close":  func(*child, string, int) error { return os.Stdout.Close() },
		"stderr": tell,
		"ready":  func(c *child, _ string, _ int) error { return tell(c, "ready", 0) },
		"flood": func(_ *child, _ string, n int) error {
			_, err := os.Stderr.WriteString(strings.Repeat(strings.Repeat("e", 99)+"\n", n/100))
			return err
		},
		"spawn":  func(_ *child, arg string, _ int) error { return spawn("spawn", arg) },
		"detach": func(_ *child, arg string, _ int) error { return spawn("detach", arg) },
		"daemon": func(_ *child, arg string, _ int) error { return spawn("daemon", arg) },
		"escape": func(_ *child, arg string, _ int) error { return spawn("escape", arg) },
		"ignoreterm": func(*child, string, int) error {
			signal.Ignore(syscall.SIGTERM)
			return nil
		},
		"hang": func(*child, string, int) error {
			signal.Notify(make(chan os.Signal, 1), os.Interrupt) // or the runtime sees a deadlock
			select {}
		},
		"term": func(c *child, _ string, _ int) error {
			term := make(chan os.Signal, 1)
			signal.Notify(term, syscall.SIGTERM)
			_ = tell(c, "ready", 0)
			<-term
			return tell(c, "terminated", 0)
		},
		"exit": func(_ *child, _ string, n int) error {
			os.Exit(n)
			return nil
		},
		"kill": func(*child, string, int) error {
			self, err := os.FindProcess(os.Getpid())
			if err == nil && self.Kill() == nil {
				select {}
			}
			return err
		},
	}
}

// spawn starts a process that does one step, as the verb says.
func spawn(verb, step string) error {
	if verb == "daemon" {
		step = "detach:" + step
	}
	cmd := exec.Command(os.Args[0], step)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = inSession(verb != "spawn")
	switch verb {
	case "daemon":
		return cmd.Run() // it writes the id
	case "escape":
		cmd.Env = []string{childVariable + "=1"}
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(os.Stderr, "pid %d\n", cmd.Process.Pid)
	return err
}

func (c *child) read() error {
	line, err := c.in.ReadBytes('\n')
	if err == nil {
		c.last, err = jsonscan.Scan(line)
	}
	return err
}

func (c *child) write(text string) error {
	_, err := os.Stdout.WriteString(strings.ReplaceAll(text, "$ID", string(c.last.ID)))
	return err
}

func (c *child) answer(result string) error {
	return c.write(`{"jsonrpc":"2.0","id":$ID,"result":` + result + "}\n")
}

// serve answers requests with their own params, and initialize as it must be.
func (c *child) serve() error {
	for {
		err := c.read()
		m := c.last
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && m.ID != nil && m.Method != "" {
			result := m.Params
			if m.Method == "initialize" {
				result = []byte(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"child","version":"1"}}`)
			}
			err = c.answer(cmp.Or(string(result), "{}"))
		}
		if err != nil {
			return err
		}
	}
}

// openFiles returns what the open files are, with their numbers.
func openFiles() (files []string) {
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		if name, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil {
			files = append(files, e.Name()+" "+name)
		}
	}
	return files
}

// list returns texts as JSON.
func list(texts []string) string {
	data, _ := json.Marshal(texts) // strings always encode
	return string(data)
}
