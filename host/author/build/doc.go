// Package build runs the commands of a plugin's author, those of [dev] in plugin.toml, and
// looks at what a build left.
package build
