// Package watch tells when a plugin in a folder was saved, added or removed.
//
// What the system says of files is taken as a hint where to look. What decides is the
// state of an entry, a packed module or a plugin's folder, and that it stayed the same
// for the settle time: however many writes make up a save, it is one notice, and no
// notice is given of a file that is still being written. Everything is looked at again
// now and then, and each second where the system gives no hints.
package watch
