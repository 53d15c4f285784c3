package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// results are the figures of all points in all rounds.
type results struct {
	begin    time.Time
	rounds   int
	measured map[point][]figures // by round
	parts    map[string]part     // when an axis was measured; nil: now
}

func newResults(begin time.Time) *results {
	return &results{begin: begin, measured: map[point][]figures{}}
}

func (r *results) add(p point, f figures) { r.measured[p] = append(r.measured[p], f) }

// A series is one figure of a subject, by size.
type series struct {
	subject string
	sizes   []int
	values  []float64 // medians of the rounds
}

// series returns those of a figure of an axis, as far as they were measured.
func (r *results) series(a axis, figure string) []series {
	var all []series
	for _, subject := range a.subjects {
		s := series{subject: subject}
		for _, n := range a.sizes {
			var values []float64
			for _, f := range r.measured[point{a.name, subject, n}] {
				if v, ok := f[figure]; ok {
					values = append(values, v)
				}
			}
			if len(values) > 0 {
				s.sizes = append(s.sizes, n)
				s.values = append(s.values, median(values))
			}
		}
		if len(s.sizes) > 0 {
			all = append(all, s)
		}
	}
	return all
}

func median(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	middle := len(values) / 2
	if len(values)%2 == 1 {
		return values[middle]
	}
	return (values[middle-1] + values[middle]) / 2
}

// fitted is how many of the largest sizes an exponent is fitted to: the small ones show
// what does not grow.
const fitted = 3

// exponent returns b of the fit value = a × sizeᵇ to the largest sizes, by least squares
// of the logarithms; false if there are not two sizes with a value above zero.
func (s series) exponent() (b float64, ok bool) {
	var xs, ys []float64
	for i := max(0, len(s.sizes)-fitted); i < len(s.sizes); i++ {
		if s.values[i] > 0 {
			xs = append(xs, math.Log(float64(s.sizes[i])))
			ys = append(ys, math.Log(s.values[i]))
		}
	}
	if len(xs) < 2 {
		return 0, false
	}
	mx, my := mean(xs), mean(ys)
	var above, below float64
	for i := range xs {
		above += (xs[i] - mx) * (ys[i] - my)
		below += (xs[i] - mx) * (xs[i] - mx)
	}
	return above / below, true
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// figuresOf returns the names of an axis's figures: those that are drawn first.
func (r *results) figuresOf(a axis) []string {
	found := map[string]bool{}
	for p, rounds := range r.measured {
		for _, f := range rounds {
			for name := range f {
				found[name] = found[name] || p.Axis == a.name
			}
		}
	}
	var names []string
	for name, here := range found {
		if here {
			names = append(names, name)
		}
	}
	rank := func(name string) int {
		if i := slices.Index(a.plots, name); i >= 0 {
			return i
		}
		return len(a.plots)
	}
	slices.SortFunc(names, func(x, y string) int { return cmp.Or(cmp.Compare(rank(x), rank(y)), strings.Compare(x, y)) })
	return names
}

const head = `# How costs grow

Written by ` + "`make growth`" + `; change nothing by hand.

%s, %s/%s, %d cores. Each figure is the median of the rounds, and
each point of a round runs in a process of its own. The servers are child processes, use no
SDK, and share the cores, which other programs may have used as well. *sdk* is github.com/modelcontextprotocol/go-sdk v1.8.0.

The exponent is b of the fit a × Nᵇ to the three largest sizes: 0 does not grow, 1 grows with
the work, 2 with its square. That of figures which are small beside the noise of the machine
says nothing.

    make growth                                             # this file
    make growth GROWTH="-match '^users'"                    # a part of it, the others stay
    cd bench/growth && go run . -match '^users' -rounds 1   # only look at a part
    cd bench/growth && go run . -h                          # all flags
`

// writeTable writes all figures in Markdown, without plots.
func (r *results) writeTable(w io.Writer) error { return r.write(w, nil) }

// write writes all figures, and links to plots by axis.
func (r *results) write(w io.Writer, plots map[string][]string) error {
	var out bytes.Buffer
	fmt.Fprintf(&out, head, runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	for _, a := range axes() {
		names := r.figuresOf(a)
		if len(names) == 0 {
			continue
		}
		fmt.Fprintf(&out, "\n## %s\n\n%s", strings.ToUpper(a.name[:1])+a.name[1:], a.about)
		if known, ok := r.parts[a.name]; ok {
			fmt.Fprintf(&out, " Measured on %s; rounds: %d.", known.Date, known.Rounds)
		}
		out.WriteString("\n\n")
		for _, plot := range plots[a.name] {
			fmt.Fprintf(&out, "![%s](%s)\n", strings.TrimSuffix(filepath.Base(plot), ".svg"), plot)
		}
		if len(plots[a.name]) > 0 {
			out.WriteByte('\n')
		}
		fmt.Fprintf(&out, "| figure | subject |%s exponent |\n|---|---|%s--:|\n", columns(a.sizes), strings.Repeat("--:|", len(a.sizes)))
		for _, name := range names {
			for _, s := range r.series(a, name) {
				fmt.Fprintf(&out, "| %s | %s |%s\n", name, s.subject, s.cells(a.sizes))
			}
		}
		r.writeWhys(&out, a)
	}
	_, err := w.Write(out.Bytes())
	return err
}

func columns(sizes []int) string {
	var out strings.Builder
	for _, n := range sizes {
		fmt.Fprintf(&out, " %d |", n)
	}
	return out.String()
}

// cells returns the values at sizes, and the exponent.
func (s series) cells(sizes []int) string {
	var out strings.Builder
	for _, n := range sizes {
		text := ""
		if i := slices.Index(s.sizes, n); i >= 0 {
			text = number(s.values[i])
		}
		fmt.Fprintf(&out, " %s |", text)
	}
	if b, ok := s.exponent(); ok {
		fmt.Fprintf(&out, " %.2f |", b)
	} else {
		out.WriteString(" |")
	}
	return out.String()
}

// number returns a figure with three digits that count.
func number(v float64) string {
	switch a := math.Abs(v); {
	case a == 0:
		return "0"
	case a >= 100:
		return strconv.FormatFloat(math.Round(v), 'f', 0, 64)
	case a >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a >= 1:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}

// keptFile is the name of the file that keeps the figures, beside the table.
const keptFile = "growth.json"

// writeFiles writes the figures to a file beside the table, in which those of other points stay as they are. From
// it, it makes the table, the plots in the folder plots beside it, and the arithmetic in a page, unless the name of
// the page is empty.
func (r *results) writeFiles(name, page string) error {
	dir := filepath.Dir(name)
	parts, err := readParts(filepath.Join(dir, keptFile))
	if err != nil {
		return err
	}
	r.merge(parts)
	if err := writeParts(filepath.Join(dir, keptFile), parts); err != nil {
		return err
	}
	all := resultsOf(parts)
	plots, err := all.draw(dir, "plots")
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := all.write(&out, plots); err != nil {
		return err
	}
	if err := os.WriteFile(name, out.Bytes(), 0o644); err != nil || page == "" {
		return err
	}
	return writeReach(page, all.constants())
}
