package rest

import (
	"errors"
	"time"
)

// A Duration is a time.Duration that is written as text in JSON, such as "30s".
type Duration time.Duration

// String returns the duration as time.Duration writes it.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText writes the duration as [time.Duration.String] does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what [time.ParseDuration] reads, such as "1m30s".
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return errors.New(`is not a duration such as "30s"`)
	}
	*d = Duration(v)
	return nil
}
