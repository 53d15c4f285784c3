package message

import (
	"bufio"
	"errors"
	"io"
)

// ReadLines reads the messages of a client into lines, each of at most the given size, until in ends. It sends why that was
// to ended: nil for io.EOF. It returns without that if over is closed while no one takes a line.
func ReadLines(in io.Reader, most int64, lines chan<- []byte, ended chan<- error, over <-chan struct{}) {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := readLine(r, most)
		if len(line) > 0 {
			select {
			case lines <- line:
			case <-over:
				return
			}
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			ended <- err
			return
		}
	}
}

// readLine reads a line. In the place of one that is too long stands a byte that is no JSON.
func readLine(r *bufio.Reader, most int64) (line []byte, err error) {
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if long = long || int64(len(line)+len(part)) > most; long {
			line = []byte{0}
		} else {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}
