// Package providercheck says what the providers of models refuse of the declaration of a
// tool. The rules are written down from documentation and from the errors that users were
// answered, apart from the code that makes declarations, and are checked against it: by the
// tests of registry/profile, and by the models that the tests of adapters talk to.
package providercheck
