package transporttest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
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
//	deaf          ignore SIGTERM from now on
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

// RunChild does nothing unless this process is a [Child], or the relay of
// [Faulty]; else it follows the script, or the program, and does not return.
func RunChild() {
	runRelay()
	if os.Getenv(childVariable) == "" {
		return
	}
	c := &child{in: bufio.NewReader(os.Stdin), out: os.Stdout}
	for _, step := range os.Args[1:] {
		if err := c.do(step); err != nil {
			_, _ = fmt.Fprintf(os.Stderr, "step %s: %v\n", step, err)
			os.Exit(99)
		}
	}
	os.Exit(0)
}

// A child follows a script.
type child struct {
	in  *bufio.Reader
	out *os.File
	id  string // as it stands in the request read last
}

func (c *child) do(step string) error {
	verb, arg, _ := strings.Cut(step, ":")
	switch verb {
	case "sdk":
		return NewServer().Run(context.Background(), &sdk.StdioTransport{})
	case "serve":
		return c.serve()
	case "read":
		return c.read()
	case "answer":
		return c.answer(arg)
	case "say":
		return c.write(arg + "\n")
	case "write":
		plain, err := strconv.Unquote(`"` + strings.ReplaceAll(arg, `"`, `\"`) + `"`)
		if err != nil {
			return err
		}
		return c.write(plain)
	case "lines":
		count, line, _ := strings.Cut(arg, ":")
		n, err := strconv.Atoi(count)
		for i := 0; i < n && err == nil; i++ {
			err = c.write(line + "\n")
		}
		return err
	case "big":
		n, err := strconv.Atoi(arg)
		if err != nil {
			return err
		}
		return c.answer(`"` + strings.Repeat("x", n) + `"`)
	case "env", "fds":
		return c.answer(c.inspect(verb))
	case "close":
		return c.out.Close()
	default:
		return c.misbehave(verb, arg)
	}
}

// misbehave does the steps that have to do with the process itself.
func (c *child) misbehave(verb, arg string) error {
	switch verb {
	case "stderr":
		_, err := fmt.Fprintln(os.Stderr, arg)
		return err
	case "ready":
		_, err := fmt.Fprintln(os.Stderr, "ready")
		return err
	case "flood":
		n, err := strconv.Atoi(arg)
		line := strings.Repeat("e", 99) + "\n"
		for i := 0; i < n && err == nil; i += len(line) {
			_, err = os.Stderr.WriteString(line)
		}
		return err
	case "spawn", "detach", "daemon", "escape":
		return spawn(verb, arg)
	case "deaf":
		signal.Ignore(syscall.SIGTERM)
	case "hang":
		signal.Notify(make(chan os.Signal, 1), os.Interrupt) // or the runtime sees a deadlock
		select {}
	case "term":
		term := make(chan os.Signal, 1)
		signal.Notify(term, syscall.SIGTERM)
		_, _ = fmt.Fprintln(os.Stderr, "ready")
		<-term
		_, err := fmt.Fprintln(os.Stderr, "terminated")
		return err
	case "exit":
		code, err := strconv.Atoi(arg)
		if err != nil {
			return err
		}
		os.Exit(code)
	case "kill":
		self, err := os.FindProcess(os.Getpid())
		if err != nil {
			return err
		}
		if err := self.Kill(); err != nil {
			return err
		}
		select {}
	default:
		return fmt.Errorf("unknown step %q", verb)
	}
	return nil
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
	if err != nil {
		return err
	}
	m, err := jsonscan.Scan(line)
	c.id = string(m.ID)
	return err
}

func (c *child) write(text string) error {
	_, err := c.out.WriteString(strings.ReplaceAll(text, "$ID", c.id))
	return err
}

func (c *child) answer(result string) error {
	return c.write(`{"jsonrpc":"2.0","id":$ID,"result":` + result + "}\n")
}

// serve answers requests with their own params, and initialize as it must be.
func (c *child) serve() error {
	for {
		line, err := c.in.ReadBytes('\n')
		if err != nil {
			return nil
		}
		m, err := jsonscan.Scan(line)
		if err != nil {
			return err
		}
		if m.ID == nil || m.Method == "" {
			continue
		}
		c.id = string(m.ID)
		result := m.Params
		if m.Method == "initialize" {
			result = []byte(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"child","version":"1"}}`)
		}
		if result == nil {
			result = []byte(`{}`)
		}
		if err := c.answer(string(result)); err != nil {
			return err
		}
	}
}

func (c *child) inspect(what string) string {
	var list []string
	if what == "env" {
		list = os.Environ()
	} else {
		entries, _ := os.ReadDir("/proc/self/fd")
		for _, e := range entries {
			if name, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil {
				list = append(list, e.Name()+" "+name)
			}
		}
	}
	data, _ := json.Marshal(list) // strings always encode
	return string(data)
}
