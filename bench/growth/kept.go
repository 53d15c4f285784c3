package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"time"
)

// A part is what is known of an axis.
type part struct {
	Date   string                     `json:"date"` // of the last measurement
	Rounds int                        `json:"rounds"`
	Points map[string]map[int]figures `json:"points"` // medians by subject and size
}

// readParts returns the parts in a file, by the names of axes; none if there is no file.
func readParts(name string) (map[string]part, error) {
	parts := map[string]part{}
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return parts, nil
	}
	if err != nil {
		return nil, err
	}
	return parts, json.Unmarshal(text, &parts)
}

// writeParts writes parts to a file.
func writeParts(name string, parts map[string]part) error {
	text, err := json.MarshalIndent(parts, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(name, append(text, '\n'), 0o644)
}

// merge puts what was measured in the place of what is known of the same points.
func (r *results) merge(parts map[string]part) {
	for p := range r.measured {
		known := parts[p.Axis]
		known.Date, known.Rounds = r.begin.Format(time.DateOnly), r.rounds
		if known.Points == nil {
			known.Points = map[string]map[int]figures{}
		}
		if known.Points[p.Subject] == nil {
			known.Points[p.Subject] = map[int]figures{}
		}
		known.Points[p.Subject][p.N] = r.medians(p)
		parts[p.Axis] = known
	}
}

// medians returns the figures of a point.
func (r *results) medians(p point) figures {
	all := map[string][]float64{}
	for _, f := range r.measured[p] {
		for name, v := range f {
			all[name] = append(all[name], v)
		}
	}
	f := figures{}
	for name, values := range all {
		f[name] = rounded(median(values))
	}
	return f
}

// resultsOf returns what parts have, as if it had been measured in one round.
func resultsOf(parts map[string]part) *results {
	r := &results{measured: map[point][]figures{}, parts: parts}
	for axis, known := range parts {
		for subject, sizes := range known.Points {
			for n, f := range sizes {
				r.add(point{axis, subject, n}, maps.Clone(f))
			}
		}
	}
	return r
}
