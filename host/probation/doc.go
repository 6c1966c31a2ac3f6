// Package probation decides whether a new revision of a plugin is good enough to
// stay, by the faults of the engine among its calls, and how long a plugin that does
// not start waits for its next attempt. It reads no clock and no log: both are handed
// in, so what it decides can be decided again.
package probation
