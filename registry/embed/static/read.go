package static

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// A FormatError tells where a file is not one of vectors.
type FormatError struct {
	Word   int    // the number of the word, from 1; 0: before the first one
	Reason string // what is wrong
}

// Error tells the word and the reason.
func (e *FormatError) Error() string {
	if e.Word == 0 {
		return "static: read vectors: " + e.Reason
	}
	return fmt.Sprintf("static: read vectors: word %d: %s", e.Word, e.Reason)
}

const (
	// maxLine is the length of the longest line that is read, in bytes.
	maxLine = 256 << 10
	// maxWord is the length of the longest word that is kept, in bytes.
	maxWord = 255
)

// Read reads vectors in one of the formats that [Open] reads. It reads no more of r than it
// needs, but for a buffer.
func Read(r io.Reader, opts *Options) (*Vectors, error) {
	words := defaultWords
	if opts != nil && opts.Words > 0 {
		words = min(opts.Words, mostWords)
	}
	in := bufio.NewReaderSize(r, maxLine)
	if begin, _ := in.Peek(len(magic)); string(begin) == magic {
		return readTable(in, words)
	}
	first, err := in.Peek(maxLine)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return nil, fmt.Errorf("static: read vectors: %w", err)
	}
	line, rest, _ := bytes.Cut(first, []byte("\n"))
	fields := strings.Fields(string(line))
	if len(fields) != 2 {
		return readText(in, words, len(fields)-1)
	}
	listed, err1 := strconv.Atoi(fields[0])
	numbers, err2 := strconv.Atoi(fields[1])
	if err1 != nil || err2 != nil {
		return nil, &FormatError{0, "the first line is neither a word with its numbers nor how many words and numbers there are"}
	}
	if _, err := in.Discard(len(line) + 1); err != nil {
		return nil, &FormatError{0, "there are no words"}
	}
	if err := checkNumbers(numbers); err != nil {
		return nil, err
	}
	words = min(words, max(listed, 0))
	if line, _, _ := bytes.Cut(rest, []byte("\n")); len(strings.Fields(string(line))) > numbers && isText(line) {
		return readText(in, words, numbers)
	}
	return readBinary(in, words, numbers)
}

// isText reports whether a line ends in a number.
func isText(line []byte) bool {
	fields := bytes.Fields(line)
	_, err := strconv.ParseFloat(string(fields[len(fields)-1]), 32)
	return err == nil
}

// checkNumbers refuses vectors of no length, or of one that is hardly meant.
func checkNumbers(numbers int) error {
	if numbers < 1 || numbers > mostNumbers {
		return &FormatError{0, fmt.Sprintf("vectors of %d numbers, want 1 to %d", numbers, mostNumbers)}
	}
	return nil
}

// readText reads lines of a word and its numbers. Words may have blanks.
func readText(in *bufio.Reader, words, numbers int) (*Vectors, error) {
	if err := checkNumbers(numbers); err != nil {
		return nil, err
	}
	v, vector := newVectors(numbers), make([]float32, numbers)
	for n := 1; n <= words; n++ {
		line, err := in.ReadSlice('\n')
		text := strings.TrimRight(string(line), " \r\n")
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return nil, &FormatError{n, fmt.Sprintf("the line has more than %d bytes", maxLine)}
		case err != nil && !errors.Is(err, io.EOF):
			return nil, fmt.Errorf("static: read vectors: %w", err)
		case text == "" && err == nil:
			continue
		case text == "":
			v.finish()
			return v, nil
		}
		for i := numbers - 1; i >= 0; i-- {
			at := strings.LastIndexAny(text, " \t")
			if at < 0 {
				return nil, &FormatError{n, fmt.Sprintf("it has fewer than %d numbers", numbers)}
			}
			x, err := strconv.ParseFloat(text[at+1:], 32)
			if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
				return nil, &FormatError{n, "it has a part that is no number"}
			}
			vector[i], text = float32(x), strings.TrimRight(text[:at], " \t")
		}
		v.add(known(text), vector)
	}
	v.finish()
	return v, nil
}

// readBinary reads words, each with a blank behind it and its numbers as bytes.
func readBinary(in *bufio.Reader, words, numbers int) (*Vectors, error) {
	v, vector, raw := newVectors(numbers), make([]float32, numbers), make([]byte, 4*numbers)
	for n := 1; n <= words; n++ {
		word, err := in.ReadSlice(' ')
		if err != nil {
			return nil, short(n, err)
		}
		text := strings.Trim(string(word), " \r\n")
		if _, err := io.ReadFull(in, raw); err != nil {
			return nil, short(n, err)
		}
		for i := range vector {
			vector[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
		}
		v.add(known(text), vector)
	}
	v.finish()
	return v, nil
}

// short returns the error of a file that ends too early.
func short(word int, err error) error {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &FormatError{word, "the file ends in it"}
	case errors.Is(err, bufio.ErrBufferFull):
		return &FormatError{word, fmt.Sprintf("it has more than %d bytes", maxLine)}
	}
	return fmt.Errorf("static: read vectors: %w", err)
}

// known returns a word as texts are taken apart, or "" for what cannot be part of a text.
func known(word string) string {
	word = strings.ToLower(word)
	if len(word) > maxWord || strings.ContainsAny(word, " \t\n\x00") {
		return ""
	}
	return word
}
