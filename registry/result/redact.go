package result

// RedactText returns text without the secrets that [Options] say to redact: "[redacted: kind]" is in
// their place. It is for adapters that record what goes by.
func (r *Shaper) RedactText(text string) string {
	if r == nil || r.redactor == nil {
		return text
	}
	return r.redactor.Text(text)
}

// RedactJSON is RedactText for the strings of a JSON value, keys included. All other bytes stay.
func (r *Shaper) RedactJSON(value []byte) []byte {
	if r == nil || r.redactor == nil {
		return value
	}
	return r.redactor.JSON(value)
}
