// Package bundle is the file that carries sessions from one store to another: their
// events with everything that the events name, in lines of JSON under one sum.
//
//	{"format":"plinth.session","version":1,"session":"ses_…","first":0,"events":12,…}   a header for each session
//	{"event":{"id":"evt_…","session":"ses_…","seq":0,…,"data":{…}}}                     the events, in the order they were recorded
//	{"blob":{"digest":"…","data":"base64"}}                                             the blobs that they name
//	{"end":{"lines":14,"sha256":"…"}}                                                   the sum of all bytes before
//
// Both directions work in constant memory: a line at a time.
package bundle
