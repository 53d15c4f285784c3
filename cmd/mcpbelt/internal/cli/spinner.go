package cli

import (
	"fmt"
	"sync"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/plain"
)

// A Spinner shows at the terminal of standard error that something takes its time. It
// appears after a second. Without a terminal, and with --json, there is none.
type Spinner struct {
	out  *Out
	stop chan struct{}
	done chan struct{}

	mu   sync.Mutex
	text string
}

// Spin starts a spinner with a text that says what is done. It runs until End.
func (o *Out) Spin(text string) *Spinner {
	s := &Spinner{out: o, text: text}
	if !o.env.ErrTerminal || o.AsJSON || o.env.Var("TERM") == "dumb" {
		return s
	}
	s.stop, s.done = make(chan struct{}), make(chan struct{})
	go s.run()
	return s
}

// Say changes the text.
func (s *Spinner) Say(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = text
}

// End removes the spinner from the terminal. Only the first call does anything.
func (s *Spinner) End() {
	if s.stop != nil {
		close(s.stop)
		<-s.done
		s.stop = nil
	}
}

func (s *Spinner) run() {
	defer close(s.done)
	const delay, step = time.Second, 100 * time.Millisecond
	timer := time.NewTimer(delay)
	defer timer.Stop()
	signs := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	for n := 0; ; n++ {
		select {
		case <-s.stop:
			if n > 0 {
				fmt.Fprint(s.out.env.Stderr, "\r\x1b[K")
			}
			return
		case <-timer.C:
			timer.Reset(step)
		}
		s.mu.Lock()
		text := plain.Line(s.text)
		s.mu.Unlock()
		fmt.Fprintf(s.out.env.Stderr, "\r\x1b[K%c %s", signs[n%len(signs)], cut(text, max(s.out.env.Width-3, narrowest)))
	}
}
