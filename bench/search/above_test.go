package main

import "testing"

// TestOursIsAbove is the point of it all: on the held-out half no other search is
// better.
func TestOursIsAbove(t *testing.T) {
	rows, err := measure(contenders())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if r.heldOut.Queries < 100 || r.unseen.Queries < 50 || r.tuning.Queries < 100 || r.tuning.NDCG5 <= 0 {
			t.Errorf("%s: %+v: something was not measured", r.name, r)
		}
	}
	ours := rows[0]
	for _, r := range rows[1:] {
		if ours.heldOut.NDCG5 <= r.heldOut.NDCG5 || ours.heldOut.Recall5 <= r.heldOut.Recall5 {
			t.Errorf("on the held-out half %s has %+v, and %s %+v", ours.name, ours.heldOut, r.name, r.heldOut)
		}
		if ours.unseen.NDCG5 <= r.unseen.NDCG5 || ours.unseen.Recall5 <= r.unseen.Recall5 {
			t.Errorf("on what was not seen %s has %+v, and %s %+v", ours.name, ours.unseen, r.name, r.unseen)
		}
	}
}
