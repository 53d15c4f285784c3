package main

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
)

const (
	journalURI = "journal://all"
	entryURI   = "journal://entries/" // and the entry's number

	maxEntries = 1000
)

// A journal is the part of the server that changes: lines, counted from 1.
type journal struct {
	mu      sync.Mutex
	entries []string
}

// add returns the number of the new entry.
func (j *journal) add(text string) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.entries) == maxEntries {
		return 0, fmt.Errorf("the journal is full: it holds %d entries", maxEntries)
	}
	j.entries = append(j.entries, text)
	return len(j.entries), nil
}

// text is never empty: the SDK would leave it out of a resource.
func (j *journal) text() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var b strings.Builder
	b.WriteString("Journal\n")
	for i, e := range j.entries {
		fmt.Fprintf(&b, "%d. %s\n", i+1, e)
	}
	return b.String()
}

func (j *journal) entry(number string) (string, bool) {
	n, err := strconv.Atoi(number)
	j.mu.Lock()
	defer j.mu.Unlock()
	if err != nil || n < 1 || n > len(j.entries) {
		return "", false
	}
	return j.entries[n-1], true
}

// numbers are those of all entries.
func (j *journal) numbers() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	numbers := make([]string, len(j.entries))
	for i := range numbers {
		numbers[i] = strconv.Itoa(i + 1)
	}
	return numbers
}
