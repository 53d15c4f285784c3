// Package consenttest checks implementations of [consent.Store]: [Run] tests each promise of it.
package consenttest
