package child

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"runtime/debug"
	"time"
)

// A message is one line on the wire, of any kind.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
}

// IsMarked reports whether this process was started to be the child.
func IsMarked() bool { return os.Getenv(Mark) != "" }

// Main is the child: it runs one script, and ends the process.
func Main() {
	_ = os.Unsetenv(Mark)
	c := &child{out: os.Stdout, answers: make(chan message, 1)}
	in := bufio.NewReaderSize(os.Stdin, 64<<10)
	hello := c.next(in)
	var bounds, run Run
	if hello.Method != MethodHello || json.Unmarshal(hello.Params, &bounds) != nil {
		os.Exit(1)
	}
	debug.SetMaxStack(maxGoStack)
	go watch(&bounds, usedMemory(), usedCPU)
	c.write(message{ID: hello.ID, Result: encode(Hello{confine(&bounds)})})
	order := c.next(in)
	if order.Method != MethodRun || json.Unmarshal(order.Params, &run) != nil {
		os.Exit(1)
	}
	// The parent's end is noticed whatever the script does.
	go func() {
		for {
			c.answers <- c.next(in)
		}
	}()
	c.write(message{ID: order.ID, Result: encode(evaluate(&run, c))})
	os.Exit(0)
}

// A child speaks with its parent. Its methods but next are for one goroutine.
type child struct {
	out     *os.File
	answers chan message
}

// next reads a message. Without a parent the process ends.
func (c *child) next(in *bufio.Reader) message {
	line, err := in.ReadBytes('\n')
	if err != nil {
		os.Exit(0)
	}
	var m message
	if json.Unmarshal(line, &m) != nil {
		os.Exit(1)
	}
	return m
}

func (c *child) write(m message) {
	m.Version = "2.0"
	line := append(encode(m), '\n')
	if _, err := c.out.Write(line); err != nil {
		os.Exit(0)
	}
}

// notify sends a notification.
func (c *child) notify(method string, params any) {
	c.write(message{Method: method, Params: encode(params)})
}

// answer returns the next answer to a request.
func (c *child) answer() (id int, a *Answer) {
	for m := range c.answers {
		if json.Unmarshal(m.ID, &id) != nil || m.Method != "" {
			continue
		}
		a = new(Answer)
		if m.Result == nil || json.Unmarshal(m.Result, a) != nil {
			a = &Answer{Error: &Failure{Message: "there is no answer", Code: "failed"}}
		}
		return id, a
	}
	return 0, nil
}

func encode(v any) json.RawMessage {
	var data bytes.Buffer
	enc := json.NewEncoder(&data)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		os.Exit(1)
	}
	return bytes.TrimSuffix(data.Bytes(), []byte("\n"))
}

const (
	// lookEvery is how often the child looks at what it has used.
	lookEvery = 10 * time.Millisecond
	// spareMemory is what the engine may take beside the memory of the script, and
	// spareWritable what threads and the memory of Go map before they use it.
	spareMemory   = 32 << 20
	spareWritable = 512 << 20
	maxGoStack    = 256 << 20
)

// watch ends the process when it has used up what it may. Memory returns the bytes in use,
// and cpu the processor time; 0: not known.
func watch(b *Run, memory func() int, cpu func() time.Duration) {
	most, until := memory()+b.Memory+spareMemory, cpu()+time.Duration(b.CPU)*time.Millisecond
	for range time.Tick(lookEvery) {
		switch {
		case memory() > most:
			os.Exit(ExitMemory)
		case cpu() > until:
			os.Exit(ExitCPU)
		}
	}
}
