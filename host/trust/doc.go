// Package trust decides what a plugin may use of what its manifest asks for. It
// holds pure functions over manifests: what is asked, whether an approval of an
// earlier version covers it, what is left when only some of it was granted, and how
// two manifests differ, in words that can be shown to a person although a stranger
// wrote them.
package trust
