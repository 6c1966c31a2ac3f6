// Package golden runs the goldens of a plugin's folder in the engine that serves it, and
// writes down what the plugin answers where its author says so.
package golden
