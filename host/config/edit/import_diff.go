package edit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/mask"
	"github.com/mcpbelt/mcpbelt/internal/plain"
)

// masked returns the text as it may be shown to the user who decides about it: secrets are
// masked, and what the servers would run is not.
func (d *draft) masked() ([]byte, error) {
	m := mask.New()
	m.Code = true
	text, ok := m.JSON(d.doc.Tree.JSON(&d.doc.Tree.Root), false)
	if !ok {
		return nil, &Error{File: d.path, Err: fmt.Errorf("the file cannot be shown")}
	}
	var tree any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&tree); err != nil {
		return nil, &Error{File: d.path, Err: fmt.Errorf("the file cannot be shown")}
	}
	for _, section := range d.doc.Sections {
		for i := range section.Entries {
			e := &section.Entries[i]
			at := d.find(e.Title)
			if at == nil || at.value != e.Value {
				continue
			}
			for j := range at.fields {
				f := &at.fields[j]
				path, ok := pathTo(at.value, f.Value)
				if !ok {
					continue
				}
				var shown json.RawMessage
				raw := d.doc.Tree.JSON(f.Value)
				switch f.Key {
				case "command", "cwd":
					shown = raw
				case "env":
					if f.Name == "" {
						shown = maskEnv(m, raw)
					}
				case "headers":
					if f.Name == "" {
						shown, _ = m.JSON(raw, true)
					}
				case "args", dialect.CommandLine:
					shown = maskArgs(m, raw)
				case "isolation":
					shown = maskIsolation(m, raw)
				}
				if shown != nil {
					var v any
					if json.Unmarshal(shown, &v) == nil {
						replaceIn(tree, append(append([]string{}, at.path...), path...), v)
					}
				}
			}
		}
	}
	data, err := d.write.Edit.Set(d.data, marshalJSON(tree))
	if err != nil {
		return nil, &Error{File: d.path, Err: fmt.Errorf("the file cannot be shown: %w", err)}
	}
	return data, nil
}

// maskEnv masks the variables of an entry.
func maskEnv(m *mask.Masker, raw json.RawMessage) json.RawMessage {
	var values map[string]json.RawMessage
	if json.Unmarshal(raw, &values) != nil {
		shown, _ := m.JSON(raw, true)
		return shown
	}
	for name, raw := range values {
		var value string
		if json.Unmarshal(raw, &value) == nil && mask.ShowsCode(name, value) {
			continue
		}
		values[name], _ = m.JSON(raw, true)
	}
	return marshalJSON(values)
}

// maskArgs masks arguments. It returns nil for what is none.
func maskArgs(m *mask.Masker, raw json.RawMessage) json.RawMessage {
	var args []string
	if json.Unmarshal(raw, &args) != nil {
		return nil
	}
	return marshalJSON(m.Args(args))
}

// maskIsolation masks what confines an entry, but for the image. It returns nil for what does
// not.
func maskIsolation(m *mask.Masker, raw json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return nil
	}
	for key, raw := range members {
		switch shown, _ := m.JSON(raw, false); key {
		case "image":
		case "args":
			if members[key] = maskArgs(m, raw); members[key] == nil {
				members[key] = shown
			}
		default:
			members[key] = shown
		}
	}
	return marshalJSON(members)
}

// replaceIn puts v at a path in a decoded JSON value, if that is there.
func replaceIn(tree any, path []string, v any) {
	for i, key := range path {
		last := i == len(path)-1
		switch node := tree.(type) {
		case map[string]any:
			if last {
				node[key] = v
			}
			tree = node[key]
		case []any:
			index, err := strconv.Atoi(key)
			if err != nil || index >= len(node) {
				return
			}
			if last {
				node[index] = v
			}
			tree = node[index]
		default:
			return
		}
	}
}

// diffContext is how many lines around a change are shown.
const diffContext = 3

// unifiedDiff returns the difference of two texts in the form that diff -u has. What
// has the form of a secret in it is redacted, control characters are made visible.
func unifiedDiff(name string, before, after []byte) string {
	a, b := textLines(before), textLines(after)
	lines := diffLines(a, b)
	var out strings.Builder
	was := name
	if before == nil {
		was = "/dev/null"
	}
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", was, name)
	m := mask.New()
	m.Code = true
	for i := 0; i < len(lines); {
		if lines[i].sign == ' ' {
			i++
			continue
		}
		start, end := max(i-diffContext, 0), i
		for j := i; j < len(lines) && j <= end+2*diffContext; j++ {
			if lines[j].sign != ' ' {
				end = j
			}
		}
		end = min(end+diffContext+1, len(lines))
		hunk := lines[start:end]
		olds, news := 0, 0
		for _, l := range hunk {
			if l.sign != '+' {
				olds++
			}
			if l.sign != '-' {
				news++
			}
		}
		fmt.Fprintf(&out, "@@ -%s +%s @@\n", hunkRange(hunk[0].a, olds), hunkRange(hunk[0].b, news))
		for _, l := range hunk {
			out.WriteByte(l.sign)
			for i, part := range strings.Split(m.Text(strings.TrimSuffix(l.text, "\r")), "\t") {
				if i > 0 {
					out.WriteByte('\t')
				}
				out.WriteString(strings.ReplaceAll(plain.Text(part), "\n", " "))
			}
			out.WriteByte('\n')
		}
		i = end
	}
	return out.String()
}

// hunkRange is the place of a hunk in one text; start counts the lines before it.
func hunkRange(start, count int) string {
	if count == 0 {
		return fmt.Sprintf("%d,0", start)
	}
	if count == 1 {
		return strconv.Itoa(start + 1)
	}
	return fmt.Sprintf("%d,%d", start+1, count)
}

func textLines(text []byte) []string {
	if len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// A diffLine is a line of both texts, or of one; a and b count the lines before it.
type diffLine struct {
	sign byte
	text string
	a, b int
}

// diffLines compares two texts. Where they differ much, the old lines come before the
// new ones: the work is bounded.
func diffLines(a, b []string) []diffLine {
	first := 0
	for first < len(a) && first < len(b) && a[first] == b[first] {
		first++
	}
	last := 0
	for last < len(a)-first && last < len(b)-first && a[len(a)-1-last] == b[len(b)-1-last] {
		last++
	}
	var lines []diffLine
	i, j := 0, 0
	emit := func(sign byte) {
		text := ""
		if sign == '+' {
			text = b[j]
		} else {
			text = a[i]
		}
		lines = append(lines, diffLine{sign, text, i, j})
		if sign != '+' {
			i++
		}
		if sign != '-' {
			j++
		}
	}
	for i < first {
		emit(' ')
	}
	for _, sign := range diffSigns(a[first:len(a)-last], b[first:len(b)-last]) {
		emit(sign)
	}
	for i < len(a) {
		emit(' ')
	}
	return lines
}

// diffSigns returns the steps from a to b by their longest common subsequence.
func diffSigns(a, b []string) []byte {
	const most = 4 << 20 // cells of the table
	n, m := len(a), len(b)
	if n == 0 || m == 0 || n > most/(m+1) {
		return append(bytes.Repeat([]byte{'-'}, n), bytes.Repeat([]byte{'+'}, m)...)
	}
	length := make([]int32, (n+1)*(m+1)) // of the common subsequence of a[i:] and b[j:]
	at := func(i, j int) *int32 { return &length[i*(m+1)+j] }
	for i := n - 1; i >= 0; i-- {
		for j := m - 1; j >= 0; j-- {
			if a[i] == b[j] {
				*at(i, j) = *at(i+1, j+1) + 1
			} else {
				*at(i, j) = max(*at(i+1, j), *at(i, j+1))
			}
		}
	}
	var signs []byte
	for i, j := 0, 0; i < n || j < m; {
		switch {
		case i < n && j < m && a[i] == b[j]:
			signs = append(signs, ' ')
			i, j = i+1, j+1
		case j == m || i < n && *at(i+1, j) >= *at(i, j+1):
			signs = append(signs, '-')
			i++
		default:
			signs = append(signs, '+')
			j++
		}
	}
	return signs
}
