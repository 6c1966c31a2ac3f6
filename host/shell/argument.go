package shell

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// operands says which arguments of a command are paths.
type operands struct {
	access Access
	skip   int    // so many arguments before the first path are something else
	values string // one-letter options whose value is not a path
	writes string // one-letter options whose value is a path it writes
	edits  string // an option that makes it write what it reads
	last   Access // of the last argument, when it is another
	mode   bool   // the first argument may look like an option: chmod -x
}

// mode is what chmod takes for one although it begins like an option.
var mode = regexp.MustCompile(`^-[rwxXstugoa,=+-]+$`)

// fileCommands are the commands whose arguments are paths.
var fileCommands = map[string]operands{
	"cd": {access: Read}, "pushd": {access: Read}, "ls": {access: Read, values: "IwT"}, "tree": {access: Read, values: "LPI"}, "du": {access: Read, values: "dBt"},
	"df": {access: Read}, "stat": {access: Read, values: "cf"}, "file": {access: Read, values: "mF"}, "readlink": {access: Read}, "realpath": {access: Read},
	"cat": {access: Read}, "tac": {access: Read}, "nl": {access: Read, values: "bhfivnws"}, "head": {access: Read, values: "nc"}, "tail": {access: Read, values: "ncs"},
	"less": {access: Read}, "more": {access: Read}, "bat": {access: Read, values: "lr"}, "wc": {access: Read}, "sort": {access: Read, values: "ktS", writes: "oT"},
	"uniq": {access: Read, values: "fsw", last: Write}, "cut": {access: Read, values: "dfcb"}, "paste": {access: Read, values: "d"}, "comm": {access: Read},
	"join": {access: Read, values: "t12aveo"}, "diff": {access: Read, values: "UCWIFx"}, "cmp": {access: Read}, "od": {access: Read, values: "AtNjw"},
	"xxd": {access: Read, values: "cslgo"}, "hexdump": {access: Read, values: "nse"}, "strings": {access: Read, values: "nte"}, "base64": {access: Read, values: "w"},
	"md5sum": {access: Read}, "sha1sum": {access: Read}, "sha256sum": {access: Read}, "sha512sum": {access: Read}, "shasum": {access: Read, values: "a"},
	"cksum": {access: Read, values: "a"}, "grep": {access: Read, skip: 1, values: "efmABCDd"}, "egrep": {access: Read, skip: 1, values: "efmABCDd"},
	"fgrep": {access: Read, skip: 1, values: "efmABCDd"}, "rg": {access: Read, skip: 1, values: "efmABCgtTMEjr"}, "ag": {access: Read, skip: 1, values: "mABCG"},
	"jq": {access: Read, skip: 1}, "yq": {access: Read, skip: 1}, "sed": {access: Read, skip: 1, values: "efl", edits: "i"}, "awk": {access: Read, skip: 1, values: "vFf"},
	"zcat": {access: Read}, "curl": {skip: noPaths, values: "HdXuAebFTmwrxyzKEPQtUYC", writes: "ocD"}, "wget": {skip: noPaths, values: "UTtwQeABRDIX", writes: "OoaP"}, "open": {access: Read}, "xdg-open": {access: Read}, "source": {access: Read}, ".": {access: Read},

	"rm": {access: Write}, "rmdir": {access: Write}, "unlink": {access: Write}, "shred": {access: Write, values: "ns"}, "mkdir": {access: Write, values: "m"},
	"mkfifo": {access: Write, values: "m"}, "touch": {access: Write, values: "dt"}, "truncate": {access: Write, values: "s"}, "tee": {access: Write},
	"cp": {access: Read, values: "S", writes: "t", last: Write}, "mv": {access: Write, values: "S", writes: "t"}, "ln": {access: Write, values: "S", writes: "t"}, "install": {access: Read, values: "gmoS", writes: "t", last: Write},
	"rsync": {access: Read, values: "e", last: Write}, "scp": {access: Read, values: "Piosc", last: Write},
	"chmod": {access: Write, skip: 1, mode: true}, "chown": {access: Write, skip: 1}, "chgrp": {access: Write, skip: 1}, "chattr": {access: Write, skip: 1}, "setfacl": {access: Write, skip: 1},
	"gzip": {access: Write}, "gunzip": {access: Write}, "bzip2": {access: Write}, "xz": {access: Write}, "zstd": {access: Write}, "zip": {access: Write, values: "xi"},
	"unzip": {access: Read, values: "x", writes: "d"}, "patch": {access: Write, values: "pF", writes: "doi"}, "vi": {access: Write}, "vim": {access: Write}, "nvim": {access: Write}, "nano": {access: Write},
	"split": {access: Write, values: "lbnCa"}, "csplit": {access: Write}, "mount": {access: Write, values: "to"}, "umount": {access: Write},
}

// noPaths is the skip of a command that names files by options only.
const noPaths = 1 << 20

// named is an argument that is a path.
type named struct {
	word
	access Access
}

// arguments lists the paths among the arguments of a command.
func (s *scan) arguments(words []word, in places) {
	name := path.Base(words[0].text)
	command, ok := fileCommands[name]
	var paths []named
	switch {
	case ok:
		paths = command.paths(words[1:])
	case name == "find" || name == "gfind":
		paths = findPaths(words)
	case name == "dd":
		paths = blocks(words)
	}
	for _, p := range paths {
		s.operand(p.word, p.access, in)
	}
	for _, w := range words[1:] {
		judged := ok && !strings.HasPrefix(w.text, "-") && !strings.HasPrefix(w.text, "file:") || slices.ContainsFunc(paths, func(p named) bool { return p.text == w.text })
		if !judged {
			s.mention(w, in)
		}
	}
}

// paths are the arguments that are paths.
func (o operands) paths(arguments []word) []named {
	var paths, written []named
	skip, options := o.skip, true
	if o.edits != "" && slices.ContainsFunc(arguments, o.isEdit) {
		o.access = Write
	}
	for i := 0; i < len(arguments); i++ {
		w := arguments[i]
		switch {
		case options && w.static && w.text == "--":
			options = false
		case options && skip > 0 && o.mode && mode.MatchString(w.text):
			skip--
		case options && strings.HasPrefix(w.text, "-") && len(w.text) > 1:
			at := strings.IndexAny(w.text[1:], o.values+o.writes) + 1
			if at == 0 || strings.HasPrefix(w.text, "--") {
				continue
			}
			if strings.ContainsAny(w.text[at:at+1], "ef") && o.skip == 1 {
				skip = 0
			}
			value := word{text: w.text[at+1:], static: w.static}
			if value.text == "" && i+1 < len(arguments) {
				i++
				value = arguments[i]
			}
			if strings.ContainsAny(w.text[at:at+1], o.writes) {
				written = append(written, named{value, Write})
			}
		case skip > 0:
			skip--
		default:
			paths = append(paths, named{w, o.access})
		}
	}
	if o.last != "" && len(paths) > 1 {
		paths[len(paths)-1].access = o.last
	}
	return append(paths, written...)
}

func (o operands) isEdit(w word) bool {
	return strings.HasPrefix(w.text, "--in-place") || strings.HasPrefix(w.text, "-") && !strings.HasPrefix(w.text, "--") && strings.Contains(w.text, o.edits)
}

// findPaths are the folders that find is told to look through, and the files it is
// told to write.
func findPaths(words []word) []named {
	var paths []named
	leading := true
	for i, w := range words[1:] {
		leading = leading && !(w.static && w.text != "" && strings.Contains("-(!", w.text[:1]))
		switch {
		case leading:
			paths = append(paths, named{w, Read})
		case slices.Contains([]string{"-fprint", "-fprint0", "-fprintf", "-fls"}, words[i].text):
			paths = append(paths, named{w, Write})
		case w.static && w.text == "-delete":
			for j := range paths {
				paths[j].access = Write
			}
		}
	}
	return paths
}

// blocks are the files of dd.
func blocks(words []word) []named {
	var paths []named
	for _, w := range words[1:] {
		switch name, value, _ := strings.Cut(w.text, "="); name {
		case "if":
			paths = append(paths, named{word{text: value, static: w.static}, Read})
		case "of":
			paths = append(paths, named{word{text: value, static: w.static}, Write})
		}
	}
	return paths
}

// operand lists an argument that is a path.
func (s *scan) operand(w word, access Access, in places) {
	switch {
	case w.static && w.text == "-", w.stream:
	case w.static:
		s.resolve(w.text, access, in)
	case w.files && len(w.folders) > 0:
		for _, folder := range w.folders {
			s.resolve(folder, access, in)
		}
	default:
		s.unknown(UnknownPath, w.text, "which file it is, is not known before the command runs")
	}
}

// mention lists an argument of a command that is not known to take paths, when it
// looks like one that leads elsewhere: /etc, ../x, --file=/etc/passwd, -I/usr.
func (s *scan) mention(w word, in places) {
	text := w.text
	if !w.static && len(w.folders) == 0 {
		return
	}
	if len(w.folders) > 0 {
		text = w.folders[0]
	}
	if strings.HasPrefix(text, "-") {
		if _, value, ok := strings.Cut(text, "="); ok {
			text = value
		} else if at := strings.IndexByte(text, '/'); at == 2 {
			text = text[at:]
		}
	}
	text = strings.TrimPrefix(text, "file://")
	if strings.HasPrefix(text, "/") || text == ".." || strings.HasPrefix(text, "../") || strings.Contains(text, "/../") {
		s.resolve(text, Mention, in)
	}
}
