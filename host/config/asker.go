package config

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpbelt/mcpbelt/internal/dialect"
	"github.com/mcpbelt/mcpbelt/internal/plain"
)

// ErrNoAnswer is wrapped by an error if there is no user to ask and no answer
// is remembered.
var ErrNoAnswer = errors.New("has no answer: give Options.Input, which asks the user, or put the answer into Options.Secrets under the name that InputSecret returns")

// ErrNotAnswered is wrapped by an error if the user was asked and did not answer:
// a host asks again when the server is restarted or approved, not when it retries.
var ErrNotAnswered = errors.New("was not answered")

// inputError says why ${input:id} stands for nothing. It holds no answer.
func inputError(in Input, err error) error {
	about := ""
	if text := plain.Line(in.Description); text != "" {
		about = fmt.Sprintf(" (%s)", text)
	}
	return fmt.Errorf("the input %s%s %w", plain.Line(in.ID), about, err)
}

// InputSecret returns the name under which the answer to an input of a file is
// remembered in [Options].Secrets. Files with an input of the same id do not meet, nor
// do two formats of one file. To forget the answer, set the secret to the empty one.
func InputSecret(file, format, id string) string {
	if abs, err := filepath.Abs(file); err == nil {
		file = abs
	}
	sum := sha256.Sum256([]byte(filepath.Clean(file) + "\x00" + format))
	prefix := "input/" + hex.EncodeToString(sum[:16]) + "/"
	if checkSecretName(prefix+id) != nil || strings.HasPrefix(id, "#") {
		sum := sha256.Sum256([]byte(id))
		id = "#" + hex.EncodeToString(sum[:])
	}
	return prefix + id
}

// An asker answers the inputs and the keyring references of one file, each once.
type asker struct {
	ctx     context.Context // of the one call that reads the file
	ask     func(context.Context, Input) (Secret, error)
	secrets SecretStore
	file    string // absolute
	format  string
	inputs  []Input
	known   map[string]answer // by kind and name
}

type answer struct {
	value string
	err   error
}

// once returns what find returned the first time.
func (a *asker) once(key string, find func() (string, error)) (string, error) {
	got, ok := a.known[key]
	if !ok && len(a.known) >= maxLooked {
		return "", fmt.Errorf("the file has more than %d references to inputs and the keyring: use fewer", maxLooked)
	}
	if !ok {
		got.value, got.err = find()
		a.known[key] = got
	}
	return got.value, got.err
}

// keyring returns the secret of a name. With later only what can be seen from the file is
// checked, and so it is for input.
func (a *asker) keyring(name string, later bool) (string, error) {
	if err := checkSecretName(name); err != nil {
		return "", fmt.Errorf("${keyring:name} has no name of a secret: %w", err)
	}
	if a.secrets == nil {
		return "", errors.New("nothing answers ${keyring:name}: give Options.Secrets, such as keyringstore.Secrets, or write ${VAR} or ${file:path}")
	}
	if later {
		return "", nil
	}
	return a.once("keyring "+name, func() (string, error) {
		value, ok, err := a.secrets.Secret(a.ctx, name)
		switch {
		case err != nil:
			return "", fmt.Errorf("the secret %s of ${keyring:name} cannot be read: %w", plain.Line(name), err)
		case !ok:
			return "", fmt.Errorf("the secret %s of ${keyring:name} is not there: put it into the keyring under that name", plain.Line(name))
		}
		return value.Reveal(), nil
	})
}

// input returns the answer to an input.
func (a *asker) input(id string, later bool) (string, error) {
	if id == "" || len(id) > dialect.MaxPath {
		return "", errors.New("${input:id} has no id, or a long one")
	}
	i := slices.IndexFunc(a.inputs, func(in Input) bool { return in.ID == id })
	if i < 0 {
		return "", inputError(Input{ID: id}, errors.New("is not described by the file: add it to its \"inputs\", or set an environment variable and write ${env:VAR}"))
	}
	if later {
		return "", nil
	}
	return a.once("input "+id, func() (string, error) {
		in := a.inputs[i]
		in.Options = slices.Clone(in.Options)
		value, err := a.answer(in)
		if err != nil {
			return "", inputError(a.inputs[i], err)
		}
		return value, nil
	})
}

// answer finds the answer to an input: the remembered one, or what the user says.
func (a *asker) answer(in Input) (string, error) {
	if in.Type == inputCommand {
		return "", errors.New("is answered by a command of the editor that the file is for, which does not exist here: make it a promptString, or set an environment variable and write ${env:VAR}")
	}
	name := InputSecret(a.file, a.format, in.ID)
	if a.secrets != nil {
		value, ok, err := a.secrets.Secret(a.ctx, name)
		if err != nil {
			return "", fmt.Errorf("cannot be looked up: %w", err)
		}
		if ok && checkAnswer(in, value.Reveal()) == nil {
			return value.Reveal(), nil
		}
	}
	if a.ask == nil {
		return "", ErrNoAnswer
	}
	if err := a.ctx.Err(); err != nil {
		return "", fmt.Errorf("was not asked: %w", err)
	}
	value, err := a.ask(a.ctx, in)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNotAnswered, err)
	}
	if err := checkAnswer(in, value.Reveal()); err != nil {
		return "", err
	}
	if a.secrets != nil && value != "" {
		if err := a.secrets.SetSecret(a.ctx, name, value); err != nil {
			return "", fmt.Errorf("was answered, but the answer cannot be kept: %w", err)
		}
	}
	return value.Reveal(), nil
}

// checkAnswer returns what is wrong with an answer, without it.
func checkAnswer(in Input, value string) error {
	switch {
	case strings.ContainsAny(value, "\r\n\x00"):
		return errors.New("has an answer with a line break or a NUL byte: answer with one line")
	case len(value) > maxSecret:
		return fmt.Errorf("has an answer of more than %d bytes", maxSecret)
	case in.Type == inputPick && !slices.Contains(in.Options, value):
		return errors.New("has an answer that is none of its options: choose one of them")
	}
	return nil
}
