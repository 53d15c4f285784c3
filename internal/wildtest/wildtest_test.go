package wildtest

import "testing"

// The comparison sees what encoding/json would change.
func TestSameTokens(t *testing.T) {
	const text = `{"a":0.10,"b":[1e400,"\u2028"]}`
	if err := SameTokens([]byte("{ \"a\": 0.10, \"b\":[1e400,\"\u2028\"] }"), []byte(text)); err != nil {
		t.Errorf("got %v, want no difference", err)
	}
	for _, other := range []string{
		"", `{"a":0.1,"b":[1e400,"\u2028"]}`, `{"b":[1e400,"\u2028"],"a":0.10}`, `{"a":0.10,"b":[1e400,"\u2028"],"c":1}`, `{"a":0.10,"b":[1e400]}`, text + "{}",
	} {
		if SameTokens([]byte(other), []byte(text)) == nil {
			t.Errorf("got no difference between %s and %s, want one", other, text)
		}
	}
}
