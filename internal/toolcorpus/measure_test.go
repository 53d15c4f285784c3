package toolcorpus_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/mcpbelt/mcpbelt/internal/assert"
	"github.com/mcpbelt/mcpbelt/internal/toolcorpus"
)

// The wanted values were computed by hand. Gains: grade 3 has 7, 2 has 3, 1 has 1.
// Discounts of the ranks 1 to 5: 1, 1.584963, 2, 2.321928, 2.584963.
func TestMeasuresOfOneQuery(t *testing.T) {
	abc := map[string]int{"a": 3, "b": 2, "c": 1} // ideal: 7 + 3/1.584963 + 1/2 = 9.392789
	many := map[string]int{"a": 3, "b": 3, "c": 3, "d": 2, "e": 2, "f": 2, "g": 1}
	// ideal: 7 + 7/1.584963 + 7/2 + 3/2.321928 + 3/2.584963 = 17.369082
	tests := map[string]struct {
		relevant     map[string]int
		found        string
		ndcg, recall float64
	}{
		"best order":           {abc, "a b c", 1, 1},
		"best order and more":  {abc, "a b c x y z", 1, 1},
		"worst order":          {abc, "c b a", (1 + 3/1.584963 + 7.0/2) / 9.392789, 1},
		"below a useless one":  {abc, "x a", (7 / 1.584963) / 9.392789, 1.0 / 2},
		"the fifth counts":     {abc, "x x1 x2 x3 a", (7 / 2.584963) / 9.392789, 1.0 / 2},
		"the sixth does not":   {abc, "x x1 x2 x3 x4 a", 0, 0},
		"again and again":      {abc, "a a a a a b", 7 / 9.392789, 1.0 / 2},
		"grade 1 only":         {abc, "c", 1 / 9.392789, 0},
		"nothing found":        {abc, "", 0, 0},
		"nothing judged":       {nil, "a b", 0, 0},
		"only grade 1 judged":  {map[string]int{"c": 1}, "c", 1, 0},
		"more than five":       {many, "a b c d e", 1, 1},
		"any of the grade":     {many, "c b a f e", 1, 1},
		"more than five, some": {many, "a f g", (7 + 3/1.584963 + 1.0/2) / 17.369082, 2.0 / 5},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			found := strings.Fields(test.found)
			near(t, "NDCG5", toolcorpus.NDCG5(test.relevant, found), test.ndcg)
			near(t, "Recall5", toolcorpus.Recall5(test.relevant, found), test.recall)
		})
	}
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) <= 1e-6 { // no NaN gets by
		return
	}
	t.Errorf("%s = %.7f, want %.7f", what, got, want)
}

func TestMeasure(t *testing.T) {
	byText := map[string]toolcorpus.Query{}
	for _, q := range toolcorpus.Queries() {
		byText[q.Text] = q
	}
	for _, half := range []string{toolcorpus.Tuning, toolcorpus.HeldOut} {
		asked, ndcg, recall := 0, 0.0, 0.0
		m, err := toolcorpus.Measure(half, func(text string) ([]string, error) {
			q, ok := byText[text]
			assert.True(t, ok, "%q: ok", text)
			assert.Equal(t, q.Half, half, "%q", text)
			found := []string{"no/such", "github/create_issue", "github/list_issues"}
			asked, ndcg, recall = asked+1, ndcg+toolcorpus.NDCG5(q.Relevant, found), recall+toolcorpus.Recall5(q.Relevant, found)
			return found, nil
		})
		assert.True(t, err == nil && m.Queries == asked && asked != 0 && ndcg != 0, "%s: %+v, %v after %d queries", half, m, err, asked)
		near(t, half+": NDCG5", m.NDCG5, ndcg/float64(asked))
		near(t, half+": Recall5", m.Recall5, recall/float64(asked))
	}
}

// TestMeasureOfMoreThanFive: what comes after the fifth tool is measured by itself.
func TestMeasureOfMoreThanFive(t *testing.T) {
	q := toolcorpus.Query{Relevant: map[string]int{"a": 3, "b": 2, "c": 1}}
	for found, want := range map[string]toolcorpus.Measures{
		"a b":                             {Recall5: 1, Recall15: 1, Right5: 1, Right15: 1},
		"x b x x x a":                     {Recall5: 0.5, Recall15: 1, Right15: 1},
		"x x x x x x x x x x x x x x a b": {Recall15: 0.5, Right15: 1},
		"x x x x x x x x x x x x x x x a": {},
	} {
		m := assert.Value(toolcorpus.MeasureOf([]toolcorpus.Query{q}, func(string) ([]string, error) { return strings.Fields(found), nil }))(t)
		near(t, found+": Recall5", m.Recall5, want.Recall5)
		near(t, found+": Recall15", m.Recall15, want.Recall15)
		near(t, found+": Right5", m.Right5, want.Right5)
		near(t, found+": Right15", m.Right15, want.Right15)
	}
}

func TestMeasureFails(t *testing.T) {
	broken := errors.New("broken")
	_, err := toolcorpus.Measure(toolcorpus.Tuning, func(string) ([]string, error) { return nil, broken })
	assert.Is(t, err, broken)
	assert.Contains(t, err.Error(), "phrase-01")
	_, err = toolcorpus.Measure("both", func(string) ([]string, error) { return nil, nil })
	assert.Fails(t, err)
	assert.Contains(t, err.Error(), `"both"`)
}
