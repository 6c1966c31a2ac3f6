package expand

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/plinthhost/plinth/host/fsys"
	"github.com/plinthhost/plinth/session"
)

// Limits of what is read.
const (
	// MaxText bounds what is attached of one text, in bytes; a model is shown no more.
	MaxText = 100 << 10
	// MaxEntries bounds a listing.
	MaxEntries = 1000
	maxScanned = 64 << 20 // of a file, to find a range of lines
)

const mimeText = "text/plain"

// The actions that are asked about.
const (
	actionRead     = "read"
	actionExternal = "external_directory"
	actionBash     = "bash"
	actionTask     = "task"
)

// place is a file or a folder that was opened below a root.
type place struct {
	*fsys.File
	folder    string // of the root, absolute
	directory string // the session's
}

// Names of the roots.
const (
	rootLocation = "location"
	rootOutside  = "outside"
)

// named is the absolute path that a mention names, as a text.
func (x *expansion) named(name string) string {
	if rest, ok := strings.CutPrefix(name, "~/"); ok && x.Home != "" {
		name = path.Join(x.Home, rest)
	}
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(x.request.Session.Location.Directory, name)
}

// barred says why what lies outside of the session's directory is not even looked for, ""
// where it may be: whether it is there is not told either.
func (x *expansion) barred(ctx context.Context, name string) (string, error) {
	absolute := x.named(name)
	if within(absolute, x.request.Session.Location.Directory) {
		return "", nil
	}
	folder := path.Join(path.Dir(absolute), "*")
	effect, err := x.effect(ctx, actionExternal, folder)
	if err != nil || effect == session.Allow {
		return "", err
	}
	return denied(effect, actionExternal, folder), nil
}

// open opens what a mention names, as seen from the session's directory.
func (x *expansion) open(name string) (place, error) {
	location := x.request.Session.Location.Directory
	root, folder, target := rootLocation, location, x.named(name)
	if !within(target, location) {
		root, folder = rootOutside, "/"
	}
	roots, err := fsys.New(map[string]string{root: folder}, x.Private)
	if err != nil {
		return place{}, err
	}
	file, err := roots.Open(root, target)
	if err != nil {
		return place{}, err
	}
	return place{File: file, folder: folder, directory: location}, nil
}

// within compares paths as texts.
func within(name, folder string) bool {
	return name == folder || strings.HasPrefix(name, strings.TrimSuffix(folder, "/")+"/")
}

// absolute is the path of an identity.
func (p place) absolute(identity string) string {
	return filepath.Join(p.folder, filepath.FromSlash(identity))
}

// resource is what permission is asked on: the path as seen from the session's directory,
// or the absolute one of what is outside.
func (p place) resource(identity string) string {
	absolute := p.absolute(identity)
	if absolute == p.directory {
		return "."
	}
	if rest, ok := strings.CutPrefix(absolute, strings.TrimSuffix(p.directory, "/")+"/"); ok {
		return rest
	}
	return absolute
}

// file attaches what a mention names, or notes why not. Only bounds and failures of the
// host are errors.
func (x *expansion) file(ctx context.Context, m mention, source *session.PromptSource) error {
	if reason, err := x.barred(ctx, m.name); reason != "" || err != nil {
		if reason != "" {
			x.fail(kindFile, m.text, reason, source)
		}
		return err
	}
	opened, err := x.open(m.name)
	if failed, ok := errors.AsType[*fsys.Error](err); ok {
		kind, reason := kindFile, failed.Text
		if failed.Kind == fsys.KindNotFound && source != nil && !m.quoted && !strings.ContainsAny(m.name, "./#~") {
			kind, reason = kindMention, "there is no agent, reference or file of that name"
		}
		x.fail(kind, m.text, reason, source)
		return nil
	}
	if err != nil {
		return err
	}
	defer opened.Close()
	reason, err := x.forbidden(ctx, opened)
	if err != nil {
		return err
	}
	if reason != "" {
		x.fail(kindFile, m.text, reason, source)
		return nil
	}
	name := readable(opened.resource(opened.Identity()))
	if opened.Info().Directory {
		name = strings.TrimSuffix(name, "/") + "/"
	}
	if x.files[name+m.lines.suffix()] {
		return nil
	}
	x.files[name+m.lines.suffix()] = true
	if len(x.prompt.Files) >= session.MaxPromptFiles {
		return fmt.Errorf("%w: %s is file %d of the prompt, the limit is %d; mention fewer", session.ErrInvalid, clip(m.text, 200), len(x.prompt.Files)+1, session.MaxPromptFiles)
	}
	content, err := x.content(ctx, opened, m, name)
	if failed, ok := errors.AsType[*fsys.Error](err); ok {
		x.fail(kindFile, m.text, failed.Text, source)
		return nil
	}
	if err != nil {
		return err
	}
	return x.attach(ctx, m, name, content, source)
}

// forbidden says why the rules do not let the file be read without asking, "" when they do.
func (x *expansion) forbidden(ctx context.Context, opened place) (string, error) {
	absolute := opened.absolute(opened.Identity())
	checks := [][2]string{{actionRead, opened.resource(opened.Identity())}}
	if !within(absolute, opened.directory) {
		folder := absolute
		if !opened.Info().Directory {
			folder = path.Dir(absolute)
		}
		checks = append([][2]string{{actionExternal, path.Join(folder, "*")}}, checks...)
	}
	for _, check := range checks {
		effect, err := x.effect(ctx, check[0], check[1])
		if err != nil {
			return "", err
		}
		if effect != session.Allow {
			return denied(effect, check[0], check[1]), nil
		}
	}
	return "", nil
}

// content is what is attached of a file.
type content struct {
	value []byte
	mime  string
	// note says what is left out of it, failed why nothing is attached; "" for neither.
	note, failed string
}

// attach keeps the content and names it in the prompt.
func (x *expansion) attach(ctx context.Context, m mention, name string, c content, source *session.PromptSource) error {
	if c.failed != "" {
		x.fail(kindFile, m.text, c.failed, source)
		return nil
	}
	if x.bytes += int64(len(c.value)); x.bytes > session.MaxPromptFilesBytes {
		return fmt.Errorf("%w: with %s the files of the prompt have %d bytes together, the limit is %d; mention fewer or smaller ones",
			session.ErrInvalid, clip(m.text, 200), x.bytes, session.MaxPromptFilesBytes)
	}
	blob, err := x.Blobs.Put(ctx, c.value)
	if err != nil {
		return fmt.Errorf("keep %s: %w", clip(m.text, 200), err)
	}
	shown := name + m.lines.suffix()
	if len(shown) > maxName {
		shown = lastBytes(shown, maxName)
	}
	x.prompt.Files = append(x.prompt.Files, session.PromptFile{Blob: blob, Path: name, Mime: c.mime, Name: shown, Source: source})
	if c.note != "" {
		x.note(kindFile, m.text+": "+c.note, source)
	}
	return nil
}

// maxName is the longest name that a prompt's file can have, in bytes.
const maxName = 255

func lastBytes(text string, n int) string {
	start := len(text) - n
	for !utf8.RuneStart(text[start]) {
		start++
	}
	return text[start:]
}

// content reads what is wanted of the file.
func (x *expansion) content(ctx context.Context, opened place, m mention, name string) (content, error) {
	size := opened.Info().Size
	switch {
	case opened.Info().Directory && m.lines.all():
		return x.listing(ctx, opened, name)
	case opened.Info().Directory:
		return content{failed: "a folder has no lines"}, nil
	case size == 0:
		return content{failed: "it is empty"}, nil
	}
	head := make([]byte, 512)
	n, err := opened.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return content{}, err
	}
	if mime := x.FileType(head[:n]); mime != "" && mime != mimeText {
		return x.media(opened, m, mime)
	}
	if m.lines.all() {
		return x.text(opened)
	}
	return x.lineRange(ctx, opened, m.lines)
}

// media reads an image or a PDF, which is attached whole.
func (x *expansion) media(opened place, m mention, mime string) (content, error) {
	size := opened.Info().Size
	switch {
	case !m.lines.all():
		return content{failed: "a file of the type " + mime + " has no lines"}, nil
	case size > session.MaxPromptFileBytes:
		return content{failed: fmt.Sprintf("it has %d bytes, the limit of one file is %d", size, session.MaxPromptFileBytes)}, nil
	}
	value, _, err := head(opened, int(size))
	if err != nil {
		return content{}, err
	}
	if x.FileType(value) != mime {
		return content{failed: "it changed while it was read"}, nil
	}
	return content{value: value, mime: mime}, nil
}

// head reads at most n bytes, and whether there is more.
func head(opened place, n int) (value []byte, more bool, err error) {
	value = make([]byte, n+1)
	read, err := opened.ReadAt(value, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	return value[:min(read, n)], read > n, nil
}

// text reads the beginning of a text.
func (x *expansion) text(opened place) (content, error) {
	value, more, err := head(opened, MaxText)
	if err != nil {
		return content{}, err
	}
	if more {
		value = wholeLines(value)
	}
	c := x.plain(value)
	if more && c.failed == "" {
		c.note = fmt.Sprintf("only the first %d of its %d bytes are attached; name lines, like #L100-200, or read the rest with a tool",
			len(value), opened.Info().Size)
	}
	return c, nil
}

// wholeLines is a beginning without the line that it breaks, or without the character.
func wholeLines(value []byte) []byte {
	if end := bytes.LastIndexByte(value, '\n'); end > len(value)/2 {
		return value[:end+1]
	}
	for n := len(value) - 1; n >= max(0, len(value)-utf8.UTFMax); n-- {
		if utf8.RuneStart(value[n]) {
			if !utf8.FullRune(value[n:]) {
				return value[:n]
			}
			break
		}
	}
	return value
}

func (x *expansion) plain(value []byte) content {
	if x.FileType(value) != mimeText {
		return content{failed: "it is neither UTF-8 text nor an image or a PDF"}
	}
	return content{value: value, mime: mimeText}
}

// lineRange reads some lines of a text.
func (x *expansion) lineRange(ctx context.Context, opened place, wanted lines) (content, error) {
	if wanted.from < 1 || wanted.to < wanted.from {
		return content{failed: fmt.Sprintf("%d to %d are no lines; the first line is 1", wanted.from, max(wanted.to, 0))}, nil
	}
	reader := bufio.NewReaderSize(io.NewSectionReader(opened, 0, maxScanned), 64<<10)
	var value []byte
	for line := 1; line <= wanted.to; {
		if ctx.Err() != nil {
			return content{}, context.Cause(ctx)
		}
		part, err := reader.ReadSlice('\n')
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
			return content{}, err
		}
		if line >= wanted.from {
			value = append(value, part...)
		}
		if len(value) > MaxText {
			c := x.plain(wholeLines(value[:MaxText]))
			c.note = fmt.Sprintf("these lines have more than %d bytes; only their beginning is attached", MaxText)
			return c, nil
		}
		if errors.Is(err, io.EOF) {
			if len(value) == 0 {
				return content{failed: fmt.Sprintf("line %d was not found; it has %d", wanted.from, lineCount(line, part))}, nil
			}
			break
		}
		if err == nil {
			line++
		}
	}
	return x.plain(value), nil
}

// lineCount is the number of lines of a file that ended in a line with this part.
func lineCount(line int, part []byte) int {
	if len(part) == 0 {
		return line - 1
	}
	return line
}

// listing is a folder as text: folders first, without what the rules deny.
func (x *expansion) listing(ctx context.Context, opened place, name string) (content, error) {
	var text strings.Builder
	fmt.Fprintf(&text, "Folder %s\n", name)
	shown, left := 0, 0
	for offset, more := 0, true; more; {
		page, next, err := opened.List(ctx, offset, 0)
		if err != nil {
			return content{}, err
		}
		resources := make([]string, len(page))
		for i, entry := range page {
			resources[i] = opened.resource(entry.Path)
		}
		var effects []session.Effect
		if len(page) > 0 {
			if effects, err = x.Rules.Effects(ctx, x.asker, "", actionRead, resources); err != nil {
				return content{}, err
			}
		}
		for i, entry := range page {
			switch {
			case effects[i] == session.Deny:
			case shown == MaxEntries || text.Len() > MaxText-maxMention:
				left++
			default:
				shown++
				text.WriteString(entryName(entry))
			}
		}
		offset, more = next, next > 0
	}
	if shown == 0 {
		text.WriteString("(nothing is in it)\n")
	}
	c := content{value: []byte(text.String()), mime: mimeText}
	if left > 0 {
		c.note = fmt.Sprintf("only the first %d of its %d entries are listed", shown, shown+left)
	}
	return c, nil
}

func entryName(entry fsys.Info) string {
	if entry.Directory {
		return readable(entry.Name) + "/\n"
	}
	return readable(entry.Name) + "\n"
}
