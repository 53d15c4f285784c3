package child

import (
	_ "embed" // holds the prelude
	"encoding/json"
	"errors"
	"fmt"

	"modernc.org/quickjs"

	"github.com/mcpbelt/mcpbelt/registry/codemode/internal/plain"
)

//go:embed prelude.js
var prelude string

// A script is one that runs. All happens on one goroutine.
type script struct {
	run    *Run
	parent *child
	sent   int // requests so far
	open   int // requests without an answer
	log    int // bytes that may still be logged

	over   bool
	result Result
}

const stuck = "the script waits for a promise that nothing will settle"

// evaluate runs a script to its end.
func evaluate(run *Run, parent *child) *Result {
	s := &script{run: run, parent: parent, log: MaxLog}
	if err := s.evaluate(); err != nil && !s.over {
		s.result.Error = thrown(err)
	}
	return &s.result
}

func (s *script) evaluate() error {
	vm, err := quickjs.NewVM()
	if err != nil {
		return err
	}
	// It is not closed: the process ends with it.
	vm.SetMemoryLimit(uintptr(s.run.Memory))
	const send = "mcpbelt$send"
	if err := vm.RegisterHostFunc(send, s.send); err != nil {
		return err
	}
	start := fmt.Sprintf("(() => { const send = %[1]s; delete globalThis.%[1]s; %[2]s; return (%[3]s)(send, %[4]d) })()", send, tidy, prelude, MaxParallel)
	deliver, err := vm.EvalValue(start, quickjs.EvalGlobal)
	if err != nil {
		return err
	}
	body, err := vm.EvalValue("(async (input) => {"+s.run.Code+"\n})", quickjs.EvalGlobal)
	if err != nil {
		return err
	}
	if _, err := deliver.Call(quickjs.UndefinedValue, body, true, given(s.run.Input)); err != nil {
		return err
	}
	for idle := -1; ; {
		if err := s.work(vm); err != nil || s.over {
			return err
		}
		if s.open == 0 {
			s.result.Error = &Thrown{Name: "Error", Message: stuck}
			return nil
		}
		if idle != s.sent {
			idle = s.sent
			s.parent.notify(NoteIdle, Idle{s.sent})
		}
		id, a := s.parent.answer()
		s.open--
		value := a.Value
		if a.Error != nil {
			value = encode(a.Error)
		}
		if _, err := deliver.Call(quickjs.UndefinedValue, id, a.Error == nil, given(value)); err != nil {
			return err
		}
	}
}

// given returns JSON as the prelude takes it.
func given(value json.RawMessage) any {
	if value == nil {
		return quickjs.Undefined{}
	}
	return string(value)
}

// tidy takes away what the engine has beside the language, and clocks and memory that
// threads share.
const tidy = `for (const name of ['performance', 'navigator', 'print', 'console', 'gc', 'std', 'os', 'bjson', 'Worker', 'scriptArgs', 'SharedArrayBuffer', 'Atomics', 'queueMicrotask']) delete globalThis[name]`

// work runs what can run now.
func (s *script) work(vm *quickjs.VM) error {
	for !s.over {
		n, err := vm.ExecutePendingJobs()
		switch {
		case err != nil && n == 0:
			return err
		case n == 0:
			return nil
		}
	}
	return nil
}

// send takes what the prelude sends.
func (s *script) send(args []any) (any, error) {
	if len(args) < 2 || s.over {
		return nil, errors.New("the script is over")
	}
	method, _ := args[0].(string)
	text, isText := args[1].(string)
	switch method {
	case "done":
		s.over = true
		if isText {
			s.result = s.bounded(text)
		}
		return nil, nil
	case "fail":
		s.over = true
		s.result.Error = &Thrown{}
		if json.Unmarshal([]byte(text), s.result.Error) != nil {
			s.result.Error.Name = "Error"
		}
		s.result.Error.cut()
		return nil, nil
	case "log":
		if s.log > 0 {
			s.parent.notify(NoteLog, Log{plain.Cut(text, s.log)})
			s.log -= len(text) + 1
		}
		return nil, nil
	}
	switch {
	case len(text) > MaxArguments:
		return nil, fmt.Errorf("the arguments have %d bytes, at most %d are allowed", len(text), MaxArguments)
	case plain.Nesting(text) > maxNesting:
		return nil, fmt.Errorf("the arguments are nested deeper than %d levels", maxNesting)
	}
	s.sent++
	s.open++
	s.parent.write(message{ID: encode(s.sent), Method: method, Params: json.RawMessage(text)})
	return s.sent, nil
}

// maxNesting is how deep values may be nested that leave the child: a little less than
// what a message may have.
const maxNesting = 128 - 8 // of what the core reads

// bounded returns a value, or its beginning.
func (s *script) bounded(value string) Result {
	if plain.Nesting(value) > maxNesting {
		return Result{Error: &Thrown{Name: "RangeError", Message: fmt.Sprintf("the value is nested deeper than %d levels", maxNesting)}}
	}
	if len(value) <= s.run.Output {
		return Result{Value: json.RawMessage(value)}
	}
	return Result{Value: encode(plain.Cut(value, s.run.Output)), Bytes: len(value)}
}

// thrown returns what an error of the engine says.
func thrown(err error) *Thrown {
	t := &Thrown{Name: "Error", Message: err.Error()}
	if js, ok := errors.AsType[*quickjs.Error](err); ok {
		t = &Thrown{Name: js.Name, Message: js.Message, Stack: js.Stack}
		if t.Name == "" {
			t.Name, t.Message = "Error", js.Error()
		}
		if js.LineNumber > 0 {
			t.Stack = fmt.Sprintf("line %d, column %d", js.LineNumber, js.ColumnNumber)
		}
	}
	t.cut()
	return t
}

// maxThrown bounds what is told of an exception, in bytes of each part.
const maxThrown = 4 << 10

func (t *Thrown) cut() {
	t.Name, t.Message, t.Stack = plain.Cut(t.Name, 256), plain.Cut(t.Message, maxThrown), plain.Cut(t.Stack, maxThrown)
}
