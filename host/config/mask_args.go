package config

import (
	"bytes"
	"encoding/json"
	"strings"
)

// MaskArgs returns the arguments of a command as they may be shown: what follows a
// flag such as --token or --api-key, the values of headers and environment variables
// that are handed on by flags, the secrets in URLs and JSON, and what has the form of
// a secret are masked as [Mask] does. What is a secret without looking like one, and
// follows nothing that says so, is not found. The result has as many elements as args.
func MaskArgs(args []string) []string {
	if args == nil {
		return nil
	}
	return newMasker().args(args)
}

func (m *masker) args(args []string) []string {
	shown := make([]string, len(args))
	for i, arg := range args {
		flag := ""
		if i > 0 {
			flag = args[i-1]
		}
		shown[i] = m.arg(flag, arg)
	}
	return shown
}

// arg masks one argument; before is the one before it, or "".
func (m *masker) arg(before, arg string) string {
	if m.code && runs(before, arg) {
		return arg
	}
	if flag := flagName(before); flag != "" && !strings.Contains(before, "=") {
		if shown, ok := m.flagValue(flag, arg); ok {
			return shown
		}
	}
	name, value, ok := strings.Cut(arg, "=")
	if !ok {
		return m.free(arg)
	}
	if flag := flagName(name); flag != "" {
		if shown, ok := m.flagValue(flag, value); ok {
			return name + "=" + shown
		}
		return name + "=" + m.free(value)
	}
	if !isURL(arg) && secretName(name) {
		return name + "=" + Mask(value)
	}
	return m.free(arg)
}

// flagName returns the name of a flag such as --token, or "".
func flagName(arg string) string {
	if !strings.HasPrefix(arg, "-") {
		return ""
	}
	return strings.TrimLeft(arg, "-")
}

// flagValue masks what a flag is given, if that is a secret by the flag's name.
func (m *masker) flagValue(flag, value string) (string, bool) {
	switch flag {
	case "H", "header", "headers":
		if name, text, ok := strings.Cut(value, ":"); ok {
			blanks := len(text) - len(strings.TrimLeft(text, " "))
			return name + ":" + text[:blanks] + Mask(text[blanks:]), true
		}
		return Mask(value), true
	case "e", "env":
		if name, text, ok := strings.Cut(value, "="); ok {
			return name + "=" + Mask(text), true
		}
		return "", false // the name of a variable
	case "u", "user":
		if name, text, ok := strings.Cut(value, ":"); ok {
			return name + ":" + Mask(text), true
		}
		return "", false
	}
	if !secretName(flag) {
		return "", false
	}
	return Mask(value), true
}

// free masks the secrets in a text that need not hold one.
func (m *masker) free(s string) string {
	switch {
	case isURL(s):
		return m.url(s)
	case strings.HasPrefix(s, "{") || strings.HasPrefix(s, "["):
		if shown, ok := m.json([]byte(s), false); ok {
			return string(shown)
		}
	}
	if name, text, ok := strings.Cut(s, ": "); ok && secretName(name) {
		return name + ": " + Mask(text)
	}
	if m.code && (looksLikePath(s) || hasShellSyntax(s)) {
		return s
	}
	if text := m.text(s); text != s {
		return text
	}
	if looksRandom(s) {
		return maskParts(s)
	}
	return s
}

// json masks a JSON value: all its strings, or those that are secrets by their name
// or their look. It reports false for what is not JSON.
func (m *masker) json(data []byte, all bool) ([]byte, bool) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil || d.More() {
		return nil, false
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(m.value(v, all)); err != nil {
		return nil, false
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), true
}

// value masks the strings in a decoded JSON value. Numbers under the name of a secret
// are masked too.
func (m *masker) value(v any, all bool) any {
	switch v := v.(type) {
	case string:
		if all {
			return Mask(v)
		}
		return m.free(v)
	case json.Number:
		if all {
			return maskText(v.String())
		}
	case []any:
		for i := range v {
			v[i] = m.value(v[i], all)
		}
	case map[string]any:
		for name, member := range v {
			v[name] = m.value(member, all || secretName(name))
		}
	}
	return v
}
