// Package record makes a golden of a recorded call: what goes into a plugin's folder, and
// so to others, has no secrets, no home folder and nothing that looks like a token, and
// holds in the engine before a file is written.
package record
