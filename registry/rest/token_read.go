package rest

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/mcpbelt/mcpbelt/internal/jsonscan"
)

// valueAt returns what is at a path of a document that is valid JSON; nil if nothing
// is there.
func valueAt(document []byte, path []string) []byte {
	value := document
	for _, step := range path {
		var next []byte
		for key, member := range jsonscan.Fields(value) {
			if string(key) == step {
				next = member
			}
		}
		if at, err := strconv.Atoi(step); err == nil && at >= 0 && next == nil {
			for element := range jsonscan.Elements(value) {
				if at == 0 {
					next = element
					break
				}
				at--
			}
		}
		if next == nil {
			return nil
		}
		value = next
	}
	return value
}

// tokenScalar returns the text of a string or a number.
func tokenScalar(value []byte) (text string, ok bool) {
	if text, ok := jsonscan.String(value); ok {
		return text, true
	}
	if len(value) > 0 && (value[0] == '-' || value[0] >= '0' && value[0] <= '9') {
		return string(value), true
	}
	return "", false
}

// read finds the token in an answer that came to what was sent at began. Its errors
// show nothing of it.
func (s *source) read(body []byte, began time.Time) (*token, error) {
	if s.extract == nil {
		text := strings.TrimSpace(string(body))
		switch {
		case strings.HasPrefix(text, "{") || strings.HasPrefix(text, "["):
			return nil, errors.New("the answer is JSON, and not a token itself: say in auth.token.extract where in it the token is")
		case strings.HasPrefix(text, `"`) && jsonscan.Valid([]byte(text)) == nil:
			text, _ = jsonscan.String([]byte(text))
		}
		return s.token(text, s.ttl, began)
	}
	if err := jsonscan.Valid(body); err != nil {
		return nil, errors.New("the answer is not JSON, in which auth.token.extract could find anything")
	}
	value := valueAt(body, s.extract)
	if value == nil {
		return nil, errors.New("the answer has nothing at auth.token.extract")
	}
	text, ok := tokenScalar(value)
	if !ok {
		return nil, errors.New("what is at auth.token.extract is no string")
	}
	life := s.ttl
	if seconds, ok := number(valueAt(body, s.expiresIn)); ok && s.expiresIn != nil {
		life = time.Duration(min(max(seconds, 0), maxLife.Seconds()) * float64(time.Second))
	}
	return s.token(text, life, began)
}

// token returns a token that is good for a time from began on.
func (s *source) token(text string, life time.Duration, began time.Time) (*token, error) {
	switch {
	case text == "":
		return nil, errors.New("the token is empty")
	case len(text) > maxToken:
		return nil, fmt.Errorf("the token is longer than %d KiB", maxToken>>10)
	}
	for i := range len(text) {
		if text[i] <= ' ' || text[i] >= 0x7f {
			return nil, errors.New("the token has characters that none has: it is perhaps a page for people")
		}
	}
	life = min(max(life, 0), maxLife)
	return &token{text: text, until: began.Add(life - min(life/10, maxMargin))}, nil
}

// number returns a number, perhaps written as a string.
func number(value []byte) (float64, bool) {
	text, ok := tokenScalar(value)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	return n, (err == nil || errors.Is(err, strconv.ErrRange)) && !math.IsNaN(n)
}
