package policy

import (
	"errors"
	"fmt"
)

// Fault returns what is wrong with one rule, as "index field text".
func Fault(err error) string {
	var rule *ruleError
	if !errors.As(err, &rule) {
		return fmt.Sprint(err)
	}
	return fmt.Sprintf("%d %s: %v", rule.index, rule.field, rule.err)
}
