package config

import (
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

// errNoAnswer is wrapped by an error if there is no user to ask and no answer
// is remembered.
var errNoAnswer = errors.New("has no answer: give Options.Input, which asks the user, or put the answer into Options.Secrets under the name that InputSecret returns")

// ErrNotAnswered is wrapped by an error if the user was asked and did not answer:
// a host asks again when the server is restarted or approved, not when it retries.
//
//cure:restart the server to be asked again
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

// keyring returns what looks up the secret of a name, or what is wrong with the name. So
// does input.
func (r *reading) keyring(name string) (func() (string, error), error) {
	if err := checkSecretName(name); err != nil {
		return nil, fmt.Errorf("${keyring:name} has no name of a secret: %w", err)
	}
	if r.opts.Secrets == nil {
		return nil, errors.New("nothing answers ${keyring:name}: give Options.Secrets, such as keyringstore.Secrets, or write ${VAR} or ${file:path}")
	}
	return func() (string, error) {
		value, ok, err := r.opts.Secrets.Secret(r.ctx, name)
		switch {
		case err != nil:
			return "", fmt.Errorf("the secret %s of ${keyring:name} cannot be read: %w", plain.Line(name), err)
		case !ok:
			return "", fmt.Errorf("the secret %s of ${keyring:name} is not there: put it into the keyring under that name", plain.Line(name))
		}
		return value.Reveal(), nil
	}, nil
}

// input returns what finds the answer to an input.
func (r *reading) input(id string) (func() (string, error), error) {
	if id == "" || len(id) > dialect.MaxPath {
		return nil, errors.New("${input:id} has no id, or a long one")
	}
	i := slices.IndexFunc(r.inputs, func(in Input) bool { return in.ID == id })
	if i < 0 {
		return nil, inputError(Input{ID: id}, errors.New("is not described by the file: add it to its \"inputs\", or set an environment variable and write ${env:VAR}"))
	}
	return func() (string, error) {
		in := r.inputs[i]
		in.Options = slices.Clone(in.Options)
		value, err := r.answer(in)
		if err != nil {
			return "", inputError(r.inputs[i], err)
		}
		return value.Reveal(), nil
	}, nil
}

// answer finds the answer to an input: the remembered one, or what the user says.
func (r *reading) answer(in Input) (Secret, error) {
	if in.Type == inputCommand {
		return "", errors.New("is answered by a command of the editor that the file is for, which does not exist here: make it a promptString, or set an environment variable and write ${env:VAR}")
	}
	name, secrets := InputSecret(filepath.Join(r.dir, filepath.Base(r.file)), r.dialect.Name, in.ID), r.opts.Secrets
	if secrets != nil {
		value, ok, err := secrets.Secret(r.ctx, name)
		if err != nil {
			return "", fmt.Errorf("cannot be looked up: %w", err)
		}
		if ok && checkAnswer(in, value.Reveal()) == nil {
			return value, nil
		}
	}
	if r.opts.Input == nil {
		return "", errNoAnswer
	}
	if err := r.ctx.Err(); err != nil {
		return "", fmt.Errorf("was not asked: %w", err)
	}
	value, err := r.opts.Input(r.ctx, in)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNotAnswered, err)
	}
	if err := checkAnswer(in, value.Reveal()); err != nil {
		return "", err
	}
	if secrets != nil && value != "" {
		if err := secrets.SetSecret(r.ctx, name, value); err != nil {
			return "", fmt.Errorf("was answered, but the answer cannot be kept: %w", err)
		}
	}
	return value, nil
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
