package message

import (
	"bufio"
	"errors"
	"io"
	"sync"
)

// MostBuffer is up to how many bytes memory is used again.
const MostBuffer = 1 << 20

// Buffers are memory that is used again by those that read and write messages.
type Buffers struct{ pool sync.Pool }

// Take returns memory to put messages together in, of any size.
func (b *Buffers) Take() []byte {
	if room, ok := b.pool.Get().(*[]byte); ok {
		return (*room)[:0]
	}
	return nil
}

// GiveBack ends the use of such memory, unless it was used with an error: it may still be read then.
func (b *Buffers) GiveBack(room []byte, err error) {
	if err == nil && cap(room) <= MostBuffer {
		b.pool.Put(&room)
	}
}

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
			if err == io.EOF {
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
