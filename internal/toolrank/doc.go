// Package toolrank takes tools and queries apart into words, so that tools are found
// that are called otherwise than the query says: by stems, synonyms, phrases, and what
// a misspelt word may mean.
package toolrank
