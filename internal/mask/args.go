package mask

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/canonjson"
	"github.com/mcpbelt/mcpbelt/internal/redact"
)

// Args returns the arguments of a command as they may be shown: what follows a
// flag such as --token, --api-key or -p, the values of headers and environment variables
// that are handed on by flags, the secrets in URLs and JSON, and what has the form of
// a secret are masked as [String] does. A secret that does not look like one, and follows
// nothing that says so, is not found. The result has as many elements as args, and is nil if
// args is.
func Args(args []string) []string {
	if args == nil {
		return nil
	}
	shown := make([]string, len(args))
	for i, arg := range args {
		flag := ""
		if i > 0 {
			flag = args[i-1]
		}
		shown[i] = maskArg(flag, arg)
	}
	return shown
}

// maskArg masks one argument; before is the one before it, or "".
func maskArg(before, arg string) string {
	if flag := FlagName(before); flag != "" && !strings.Contains(before, "=") {
		if shown, ok := flagValue(flag, arg); ok {
			return shown
		}
	}
	name, value, ok := strings.Cut(arg, "=")
	if !ok {
		if joined, is := strings.CutPrefix(arg, "-p"); is && strings.ContainsAny(joined, "0123456789") {
			if shown, ok := flagValue("p", joined); ok {
				return "-p" + shown
			}
		}
		return free(arg)
	}
	if flag := FlagName(name); flag != "" {
		if shown, ok := flagValue(flag, value); ok {
			return name + "=" + shown
		}
		return name + "=" + free(value)
	}
	if !IsURL(arg) && IsSecretName(name) {
		return name + "=" + String(value)
	}
	return free(arg)
}

// FlagName returns the name of a flag such as --token, or "".
func FlagName(arg string) string {
	if !strings.HasPrefix(arg, "-") {
		return ""
	}
	return strings.TrimLeft(arg, "-")
}

// flagValue masks what a flag is given, if that is a secret by the flag's name.
func flagValue(flag, value string) (string, bool) {
	switch flag {
	case "H", "header", "headers":
		if name, text, ok := strings.Cut(value, ":"); ok {
			blanks := len(text) - len(strings.TrimLeft(text, " "))
			return name + ":" + text[:blanks] + Named(name, text[blanks:]), true
		}
		return String(value), true
	case "e", "env":
		if name, text, ok := strings.Cut(value, "="); ok {
			return name + "=" + Named(name, text), true
		}
		return "", false // the name of a variable
	case "u", "user":
		if name, text, ok := strings.Cut(value, ":"); ok {
			return name + ":" + String(text), true
		}
		return "", false
	case "p": // a password, or a port, or the package of npx
		if strings.Trim(value, "0123456789.:") == "" && (len(value) < 6 || strings.Contains(value, ":")) || strings.HasPrefix(value, "@") && strings.Contains(value, "/") {
			return "", false
		}
		return String(value), true
	}
	if !IsSecretName(flag) {
		return "", false
	}
	return String(value), true
}

// free masks the secrets in a text that need not hold one.
func free(s string) string {
	switch {
	case IsURL(s):
		return URL(s)
	case strings.HasPrefix(s, "{") || strings.HasPrefix(s, "["):
		if shown, ok := JSON("", []byte(s)); ok {
			return string(shown)
		}
	}
	if name, text, ok := strings.Cut(s, ": "); ok && IsSecretName(name) {
		return name + ": " + String(text)
	}
	if text := redact.Known().Text(s); text != s {
		return text
	}
	if LooksRandom(s) {
		return maskParts(s)
	}
	_, shown := references(s)
	return shown
}

// JSON masks a JSON value that bears a name: each string as [Named] does, and all in what bears the
// name of a secret. It reports false for what is not JSON.
func JSON(name string, data []byte) ([]byte, bool) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil || d.More() {
		return nil, false
	}
	shown, err := canonjson.Marshal(value(name, v))
	return shown, err == nil
}

// value masks the strings in a decoded JSON value, and numbers under the name of a secret.
func value(name string, v any) any {
	switch v := v.(type) {
	case string:
		return Named(name, v)
	case json.Number:
		if IsSecretName(name) {
			return maskText(v.String())
		}
	case []any:
		for i := range v {
			v[i] = value(name, v[i])
		}
	case map[string]any:
		for key, member := range v {
			if IsSecretName(name) {
				v[key] = value(name, member)
			} else {
				v[key] = value(key, member)
			}
		}
	}
	return v
}
