package main

import (
	"math"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

// draw writes a plot of each drawn figure into a folder of dir, as SVG. It returns their
// names as seen from dir, by axis.
func (r *results) draw(dir, folder string) (map[string][]string, error) {
	if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
		return nil, err
	}
	plots := map[string][]string{}
	for _, a := range axes() {
		for _, figure := range a.plots {
			p, err := drawn(a, figure, r.series(a, figure))
			if err != nil {
				return nil, err
			}
			if p == nil {
				continue
			}
			name := path.Join(folder, slug(a.name+" "+figure)+".svg")
			if err := p.Save(12*vg.Centimeter, 8*vg.Centimeter, filepath.Join(dir, name)); err != nil {
				return nil, err
			}
			plots[a.name] = append(plots[a.name], name)
		}
	}
	return plots, nil
}

func slug(figure string) string {
	plain := strings.ReplaceAll(figure, "µ", "u")
	return strings.Trim(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(plain), "-"), "-")
}

// drawn returns a plot of one figure, with both axes logarithmic; nil if there are no two
// sizes of a subject with a value above zero.
func drawn(a axis, figure string, all []series) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = a.name + ": " + figure
	p.X.Label.Text, p.Y.Label.Text = a.counts, figure
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	var ticks plot.ConstantTicks
	for _, n := range a.sizes {
		ticks = append(ticks, plot.Tick{Value: float64(n), Label: strconv.Itoa(n)})
	}
	p.X.Tick.Marker, p.Y.Tick.Marker = ticks, plot.LogTicks{Prec: -1}
	p.Legend.Top, p.Legend.Left = true, true
	p.Add(plotter.NewGrid())
	var lines []any
	for _, s := range all {
		var points plotter.XYs
		for i, v := range s.values {
			if v > 0 {
				points = append(points, plotter.XY{X: float64(s.sizes[i]), Y: v})
			}
		}
		label := s.subject
		if b, ok := s.exponent(); ok {
			label += ", exponent " + strconv.FormatFloat(b, 'f', 2, 64)
		}
		if len(points) > 1 {
			lines = append(lines, label, points)
		}
	}
	if lines == nil {
		return nil, nil
	}
	if err := plotutil.AddLinePoints(p, lines...); err != nil {
		return nil, err
	}
	p.Y.Min = math.Pow10(int(math.Floor(math.Log10(p.Y.Min))))
	p.Y.Max = math.Pow10(int(math.Floor(math.Log10(2*p.Y.Max))) + 1) // with room for the legend
	return p, nil
}
