package jsonedit

import (
	"bytes"

	"github.com/mcpbelt/mcpbelt/internal/jsonc"
)

// An item is a member of an object or an element of an array, and the text that
// belongs to it.
type item struct {
	lead  int // where its comments begin, or it itself
	start int
	end   int // of its value
	comma int // that follows, or -1
	tail  int // after the comma, and the comments behind it on the line
}

// A span is where a comment stands.
type span struct{ start, end int }

// items returns the members or elements of n.
func (d *document) items(n *jsonc.Node) []item {
	list := make([]item, 0, len(n.Members)+len(n.Elems))
	for i := range n.Members {
		list = append(list, item{start: n.Members[i].Offset, end: n.Members[i].Value.End})
	}
	for i := range n.Elems {
		list = append(list, item{start: n.Elems[i].Offset, end: n.Elems[i].End})
	}
	after := n.Offset + 1
	for i := range list {
		it := &list[i]
		it.lead = d.lead(after, it.start)
		after = it.end
		it.comma = -1
		if _, next := d.trivia(it.end); d.Data[next] == ',' {
			it.comma = next
			after = next + 1
		}
		it.tail = d.tail(after)
	}
	return list
}

// trivia returns the comments between from and the next token, and where that is.
func (d *document) trivia(from int) (comments []span, next int) {
	for next = from; next < len(d.Data); {
		switch d.Data[next] {
		case ' ', '\t', '\n', '\r':
			next++
		case '/':
			start := next
			next = commentEnd(d.Data, start)
			text := bytes.TrimRight(d.Data[start:next], "\r") // of a line break
			comments = append(comments, span{start, start + len(text)})
		default:
			return comments, next
		}
	}
	return comments, next
}

// commentEnd returns the offset after the comment that starts at start, which the parser
// has accepted.
func commentEnd(data []byte, start int) int {
	text, mark := data[start+2:], "*/"
	if data[start+1] == '/' {
		mark = "\n"
	}
	at := bytes.Index(text, []byte(mark))
	switch {
	case at < 0:
		return len(data)
	case mark == "\n":
		mark = "" // the line break is not of the comment
	}
	return start + 2 + at + len(mark)
}

// tail returns the end of the comments that stand on the line of from, which is
// behind an item or its comma. Where another item follows on the line, they are that
// one's.
func (d *document) tail(from int) int {
	comments, next := d.trivia(from)
	end := from
	for _, c := range comments {
		if bytes.IndexByte(d.Data[end:c.start], '\n') >= 0 {
			return end
		}
		end = c.end
	}
	if c := d.Data[next]; c != '}' && c != ']' && bytes.IndexByte(d.Data[end:next], '\n') < 0 {
		return from
	}
	return end
}

// lead returns where the comments of the item at start begin: on its line and
// directly above. The text before them ends at after. Behind a bracket, comments on
// its line are about all items.
func (d *document) lead(after, start int) int {
	comments, _ := d.trivia(after)
	bound := d.tail(after)
	lead := start
	for i := len(comments) - 1; i >= 0; i-- {
		c := comments[i]
		lines := bytes.Count(d.Data[c.end:lead], []byte{'\n'})
		if c.start < bound || lines > 1 || lines == 1 && switchedOff(d.Data[c.start:c.end]) {
			break
		}
		lead = c.start
	}
	return lead
}

// switchedOff reports whether a comment looks like a part of the document that a user
// keeps for later.
func switchedOff(comment []byte) bool {
	text := bytes.TrimSpace(bytes.Trim(comment[2:], "/*"))
	if len(text) == 0 {
		return false
	}
	return bytes.IndexByte([]byte(`"{}[]`), text[0]) >= 0
}
