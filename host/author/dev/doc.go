// Package dev is the loop of a plugin's author: each save is built, packed, served by a
// host where there is one, held to its goldens, and tried with the call that failed last.
// Nothing that goes wrong ends it.
package dev
