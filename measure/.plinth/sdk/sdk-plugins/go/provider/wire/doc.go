// Package wire has what codecs of different protocols do alike: failures in the words of
// providers, retries, schemas, and the parts of a history that a protocol has no place for.
package wire
