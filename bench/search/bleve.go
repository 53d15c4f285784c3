package main

import (
	"errors"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/mapping"
	"github.com/blevesearch/bleve_index_api"

	"github.com/mcpbelt/mcpbelt/internal/toolcorpus"
)

func openBleve() (func(string) ([]string, error), func() error, error) {
	return indexBleve(bleve.NewIndexMapping())
}

// openEnglish takes the analysis and the ranking that one would choose for this
// work.
func openEnglish() (func(string) ([]string, error), func() error, error) {
	m := bleve.NewIndexMapping()
	m.DefaultAnalyzer = en.AnalyzerName
	m.ScoringModel = index.BM25Scoring
	return indexBleve(m)
}

// indexBleve gives all fields of all tools to an index in memory. A match query
// that names no field searches all of them.
func indexBleve(m *mapping.IndexMappingImpl) (func(string) ([]string, error), func() error, error) {
	idx, err := bleve.NewMemOnly(m)
	if err != nil {
		return nil, nil, err
	}
	for _, d := range toolcorpus.Documents() {
		err := idx.Index(d.Key, map[string]any{
			"server":      d.Server,
			"name":        d.Name,
			"title":       d.Title,
			"description": d.Description,
			"parameters":  d.Parameters,
		})
		if err != nil {
			return nil, nil, errors.Join(err, idx.Close())
		}
	}
	search := func(text string) ([]string, error) {
		req := bleve.NewSearchRequest(bleve.NewMatchQuery(text))
		req.Size = shown
		req.SortBy([]string{"-_score", "_id"}) // ties go by key
		res, err := idx.Search(req)
		if err != nil {
			return nil, err
		}
		var found []string
		for _, hit := range res.Hits {
			found = append(found, hit.ID)
		}
		return found, nil
	}
	return search, idx.Close, nil
}
