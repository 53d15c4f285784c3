package static

import (
	"bufio"
	"encoding/binary"
	"io"
	"math"
	"slices"
	"strings"
)

// magic is how a table begins. Then come how many numbers a vector has and how many words
// there are, the mean of the vectors, and for each word its length, itself, what a byte
// stands for, and a byte for each number. All numbers of more than a byte are little-endian.
const magic = "mcpbelt word vectors 1\n"

// WriteTo writes a table that [Open] and [Read] read, with a byte for each number: a quarter
// of what binary vectors take.
func (v *Vectors) WriteTo(w io.Writer) (int64, error) {
	counter := &counting{w: w}
	out := bufio.NewWriter(counter)
	// A bufio.Writer keeps its error, which Flush returns.
	_, _ = out.WriteString(magic)
	words := make([]string, len(v.places))
	for word, place := range v.places {
		words[place] = word
	}
	number := func(n uint32) { _, _ = out.Write(binary.LittleEndian.AppendUint32(nil, n)) }
	number(uint32(len(v.mean)))
	number(uint32(len(words)))
	for _, x := range v.mean {
		number(math.Float32bits(x))
	}
	row := make([]byte, len(v.mean))
	for i, word := range words {
		_ = out.WriteByte(byte(len(word)))
		_, _ = out.WriteString(word)
		number(math.Float32bits(v.scales[i]))
		for j, b := range v.rows[i*len(row):][:len(row)] {
			row[j] = byte(b)
		}
		_, _ = out.Write(row)
	}
	err := out.Flush()
	return counter.n, err
}

// counting counts what is written.
type counting struct {
	w io.Writer
	n int64
}

func (c *counting) Write(data []byte) (int, error) {
	n, err := c.w.Write(data)
	c.n += int64(n)
	return n, err
}

// readTable reads what WriteTo has written, at most so many words.
func readTable(in *bufio.Reader, words int) (*Vectors, error) {
	_, _ = in.Discard(len(magic)) // it was seen
	var head [8]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return nil, short(0, err)
	}
	numbers, listed := binary.LittleEndian.Uint32(head[:]), binary.LittleEndian.Uint32(head[4:])
	if err := checkNumbers(int(min(numbers, mostNumbers+1))); err != nil {
		return nil, err
	}
	v := newVectors(int(numbers))
	raw := make([]byte, 4*numbers)
	if _, err := io.ReadFull(in, raw); err != nil {
		return nil, short(0, err)
	}
	for i := range v.mean {
		v.mean[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	row := make([]byte, numbers)
	for n := 1; n <= min(words, int(min(listed, mostWords))); n++ {
		length, err := in.ReadByte()
		if err != nil {
			return nil, short(n, err)
		}
		word, scale := make([]byte, length), make([]byte, 4)
		for _, part := range [][]byte{word, scale, row} {
			if _, err := io.ReadFull(in, part); err != nil {
				return nil, short(n, err)
			}
		}
		text := known(string(word))
		if _, again := v.places[text]; again || text == "" {
			return nil, &FormatError{n, "it is no word, or is there twice"}
		}
		v.places[strings.Clone(text)] = int32(len(v.scales))
		v.scales = append(v.scales, math.Float32frombits(binary.LittleEndian.Uint32(scale)))
		v.rows = slices.Grow(v.rows, len(row))
		for _, b := range row {
			v.rows = append(v.rows, int8(b))
		}
	}
	return v, nil
}
