package codemode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpbelt/mcpbelt/mcp"
	"github.com/mcpbelt/mcpbelt/registry/codemode/internal/child"
	"github.com/mcpbelt/mcpbelt/transport"
)

// canBeChild says that this program calls [Child], and so does another process of it.
var canBeChild atomic.Bool

// Child makes this process the sandbox of a script if it was started as one, and does not
// return then. Else it returns at once, and notes that this program can be started so. Call
// it first in main, and in TestMain of tests: what stands before it is done in each
// sandbox, too.
func Child() {
	if child.IsMarked() {
		child.Main()
	}
	canBeChild.Store(true)
}

// startTimeout bounds the time until a child answers. Tests have a longer one.
var startTimeout = 20 * time.Second

const (
	// endTimeout is how long a child that has answered may take to end by itself.
	endTimeout = 200 * time.Millisecond
	// sentBeside is how much larger a message is than the arguments in it.
	sentBeside = 64 << 10
)

// A sandbox is the program that runs scripts in QuickJS, each in a process of its own.
type sandbox struct{ program string }

// newSandbox returns the sandbox that is a program, or this one.
func newSandbox(program string) (*sandbox, error) {
	if program != "" {
		return &sandbox{program}, nil
	}
	switch {
	case child.IsMarked():
		return nil, unavailable(errors.New("this process is itself a sandbox, in which main did not call codemode.Child first"))
	case !canBeChild.Load():
		return nil, unavailable(errors.New("main does not call codemode.Child first, and Options.Program names no other program"))
	case runtime.GOOS == "linux":
		return &sandbox{"/proc/self/exe"}, nil // also after an update
	}
	program, err := os.Executable()
	if err != nil {
		return nil, unavailable(err)
	}
	return &sandbox{program}, nil
}

// unavailable is why there is no sandbox, and so no code mode.
func unavailable(err error) error { return fmt.Errorf("codemode: scripts cannot be run: %w", err) }

// probe starts a child, and returns by what it is confined.
func (s *sandbox) probe(l Limits) ([]string, error) {
	p, err := s.start(context.Background(), &run{limits: l})
	if err != nil {
		return nil, unavailable(fmt.Errorf("%s does not answer as a sandbox: %w", s.program, err))
	}
	defer p.close()
	return p.confined, nil
}

// A process is one child.
type process struct {
	run      *run
	conn     mcp.Caller
	confined []string

	ctx      context.Context // of what the child has asked for
	cancel   context.CancelCauseFunc
	wg       sync.WaitGroup // answering it
	writing  sync.Mutex     // held while an answer is written
	underWay atomic.Int64   // requests without an answer
	begun    atomic.Bool    // it is confined
}

// start starts a child for a run, and waits until it is confined.
func (s *sandbox) start(ctx context.Context, r *run) (*process, error) {
	folder := "/"
	if runtime.GOOS == "windows" {
		folder = os.TempDir()
	}
	p := &process{run: r}
	p.ctx, p.cancel = context.WithCancelCause(ctx)
	command := transport.Command{
		Path:         s.program,
		Dir:          folder,
		CloseTimeout: endTimeout,
		MaxMessage:   int64(max(child.MaxArguments, 6*r.limits.Output, 6*child.MaxLog) + sentBeside),
		Start: func(cmd *exec.Cmd) error {
			cmd.Env = bareEnv(cmd.Env)
			return cmd.Start()
		},
		StrayOutput: func(string) {
			if p.begun.Load() { // before that it may be of the program's packages
				p.cancel(&sandboxError{errors.New("it sent what is no message")})
			}
		},
	}
	opened, err := command.Connect(ctx)
	if err != nil {
		p.cancel(err)
		return nil, err
	}
	conn, ok := opened.(mcp.Caller)
	if !ok {
		_ = opened.Close()
		return nil, errors.New("the connection is no mcp.Caller")
	}
	p.conn = conn
	p.conn.Receive(p.receive, func(error) {})
	ctx, stop := context.WithTimeout(ctx, startTimeout)
	defer stop()
	var hello child.Hello
	if err := p.call(ctx, child.MethodHello, wireOf(r.limits), &hello); err != nil {
		p.close()
		return nil, err
	}
	p.confined = hello.Confined
	p.begun.Store(true)
	return p, nil
}

// markVariable is the environment variable by which package transport knows its children, to
// end them with the program.
const markVariable = "MCPBELT_PROCESS"

// bareEnv returns of an environment what the child needs: that by which it is known as
// ours, and on Windows where the system is.
func bareEnv(env []string) []string {
	bare := []string{child.Mark + "=1"}
	for _, entry := range env {
		name, _, _ := strings.Cut(entry, "=")
		if name == markVariable || runtime.GOOS == "windows" && strings.EqualFold(name, "SYSTEMROOT") {
			bare = append(bare, entry)
		}
	}
	return bare
}

func (p *process) call(ctx context.Context, method string, params, answer any) error {
	data, err := json.Marshal(params)
	if err != nil {
		return err
	}
	data, err = p.conn.Call(ctx, method, data, nil)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, answer)
}

// close ends the process and waits for it, and for what it has asked for.
func (p *process) close() {
	p.cancel(errEnded)
	_ = p.conn.Close()
	p.wg.Wait()
}

var errEnded = errors.New("the script has ended")

// execute runs the script of a run to its end, and returns what it returned when nothing is left of the process. If the
// context of the run ends, the process is ended at once, and the error is the cause of that.
func (s *sandbox) execute(r *run) (*child.Result, error) {
	l := r.limits
	p, err := s.start(r.ctx, r)
	if err != nil {
		return nil, reasonOf(r.ctx, err, l)
	}
	var result child.Result
	order := wireOf(l)
	order.Code, order.Input = r.code, r.input
	err = p.call(p.ctx, child.MethodRun, order, &result)
	if err != nil {
		err = reasonOf(p.ctx, err, l)
	}
	p.close()
	switch {
	case err != nil:
		return nil, err
	case result.Error != nil:
		return nil, &ScriptError{result.Error.Name, result.Error.Message, result.Error.Stack}
	}
	return &result, nil
}

// wireOf returns the limits as a child is told them.
func wireOf(l Limits) child.Run {
	return child.Run{CPU: l.CPU.Milliseconds(), Memory: l.Memory, Output: l.Output}
}

// reasonOf returns why a child did not answer.
func reasonOf(ctx context.Context, err error, l Limits) error {
	var exit *transport.ExitError
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case !errors.As(err, &exit):
		return &sandboxError{err}
	case exit.Code == child.ExitCPU:
		return &LimitError{"CPU", l.CPU.String()}
	case exit.Code == child.ExitMemory:
		return &LimitError{"Memory", bytesOf(l.Memory)}
	}
	return &sandboxError{err}
}

// bytesOf returns a number of bytes in words.
func bytesOf(n int) string { return fmt.Sprintf("%d bytes", n) }

// receive takes what the child says. It does not block.
func (p *process) receive(m jsonrpc.Message, _ int64) {
	req, ok := m.(*jsonrpc.Request)
	switch {
	case !ok || !p.begun.Load():
		p.cancel(&sandboxError{errors.New("it sent what was not asked for")})
	case req.IsCall():
		// The child keeps to this number, unless the script has taken it over.
		if p.underWay.Add(1) > int64(child.MaxParallel) {
			p.cancel(&sandboxError{errors.New("it sent more requests at a time than it may")})
			return
		}
		p.wg.Go(func() { p.answer(req) })
	case req.Method == child.NoteLog:
		var log child.Log
		if json.Unmarshal(req.Params, &log) == nil {
			p.run.logs(log.Text)
		}
	case req.Method == child.NoteIdle:
		var idle child.Idle
		if json.Unmarshal(req.Params, &idle) == nil {
			p.run.idles(idle.Sent)
		}
	}
}

// answer answers a request of the child.
func (p *process) answer(req *jsonrpc.Request) {
	value, failed := p.run.request(p.ctx, req.Method, req.Params)
	data, err := json.Marshal(child.Answer{Value: value, Error: failed})
	if err != nil || p.ctx.Err() != nil {
		return
	}
	// The child sends another request once it has an answer, and one answer at most is
	// being written that does not count any more.
	p.writing.Lock()
	defer p.writing.Unlock()
	p.underWay.Add(-1)
	_ = p.conn.Write(p.ctx, &jsonrpc.Response{ID: req.ID, Result: data})
}
