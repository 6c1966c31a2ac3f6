// Package compaction decides when a history is too long for a model's window, which
// part of it is condensed, and what a model is asked for to condense it. It makes no
// request and writes nothing.
package compaction
