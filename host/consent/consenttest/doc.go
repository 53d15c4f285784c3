// Package consenttest checks that a [consent.Store] keeps its word.
package consenttest
