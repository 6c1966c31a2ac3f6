package wasm

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// prepared is a module that was parsed and metered. It follows from the core of the
// module alone, but for what Info says of the whole file, so it is kept in the cache
// beside the machine code: a second start neither parses nor meters, nor does that of the
// same code with another manifest behind it.
type prepared struct {
	Core    string   `json:"core"` // SHA-256 of the core, in hexadecimal
	Info    Info     `json:"info"`
	Globals []string `json:"globals"` // exports of the globals that a restore puts back
	// Fixed says why instances cannot be put back to a snapshot, "" when they can.
	Fixed string `json:"fixed"`

	Parse time.Duration `json:"parse"`
	Meter time.Duration `json:"meter"`

	Wasm []byte `json:"-"` // metered, without active data
	// Data is the active segments in their order: offset and length, both of 4 bytes,
	// and the bytes.
	Data []byte `json:"-"`
}

// fill writes the active data into a new instance.
func (p *prepared) fill(i *instance) error {
	for rest := p.Data; len(rest) > 0; {
		at, size := binary.LittleEndian.Uint32(rest), binary.LittleEndian.Uint32(rest[4:])
		if !i.memory.Write(at, rest[8:8+size]) {
			return fmt.Errorf("its data, %d bytes at %d, lies outside of its memory of %d bytes", size, at, i.memory.Size())
		}
		rest = rest[8+size:]
	}
	return nil
}

// prepare reads the cache or does the work. fresh says that it did; then the result
// is to be kept once the module is admitted.
func (e *Engine) prepare(wasm []byte) (p *prepared, folder string, fresh bool, err error) {
	if err := checkSize(wasm); err != nil {
		return nil, "", false, err
	}
	core := coreOf(wasm)
	key := digestOf(core)
	folder = e.cacheFolder(key)
	if folder != "" {
		p, err := readPrepared(folder)
		switch {
		case err == nil && p.Core == key && checkAppended(wasm, core) == nil:
			e.touch(folder)
			return p, folder, false, p.of(wasm)
		case err != nil && !errors.Is(err, os.ErrNotExist):
			e.options.Logger.Warn("a cached module was damaged and is made anew", "folder", folder, "error", err)
		}
	}
	if p, err = rewrite(wasm); err != nil {
		return nil, "", false, err
	}
	p.Core = key
	return p, folder, true, p.of(wasm)
}

// of has Info say what it says of the whole file.
func (p *prepared) of(wasm []byte) (err error) {
	p.Info.Digest, p.Info.Size = digestOf(wasm), len(wasm)
	p.Info.Custom, err = customs(wasm)
	return err
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Files of a module's cache folder, beside the compiler's own.
const (
	preparedFile = "prepared.json"
	metered      = "metered.wasm"
	dataFile     = "data"
)

func readPrepared(folder string) (*prepared, error) {
	text, err := os.ReadFile(filepath.Join(folder, preparedFile))
	if err != nil {
		return nil, err
	}
	sealed := sealedFile{}
	if err := json.Unmarshal(text, &sealed); err != nil {
		return nil, err
	}
	p := sealed.Prepared
	if p.Wasm, err = os.ReadFile(filepath.Join(folder, metered)); err != nil {
		return nil, damaged(err)
	}
	if p.Data, err = os.ReadFile(filepath.Join(folder, dataFile)); err != nil {
		return nil, damaged(err)
	}
	if sealed.Sum != p.sum() {
		return nil, errors.New("the sum does not match")
	}
	return &p, nil
}

// damaged is a part that is missing although the whole was there: not os.ErrNotExist.
func damaged(err error) error { return fmt.Errorf("incomplete: %v", err) }

// sealedFile tells a whole entry from a torn one.
type sealedFile struct {
	Prepared prepared `json:"prepared"`
	Sum      string   `json:"sum"`
}

func (p *prepared) sum() string {
	hash := sha256.New()
	for _, part := range [][]byte{p.Wasm, p.Data} {
		hash.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		hash.Write(part)
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// keep writes a prepared module into the cache.
func (p *prepared) keep(folder string) error {
	if folder == "" {
		return nil
	}
	if err := p.write(folder); err != nil {
		return fmt.Errorf("keep the metered module in the compilation cache: %w", err)
	}
	return nil
}

func (p *prepared) write(folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	kept := *p
	kept.Info.Digest, kept.Info.Size, kept.Info.Custom = "", 0, nil // of one file with this core
	text, err := json.Marshal(sealedFile{Prepared: kept, Sum: p.sum()})
	if err != nil {
		return err
	}
	for _, file := range []struct {
		name string
		data []byte
	}{{metered, p.Wasm}, {dataFile, p.Data}, {preparedFile, text}} {
		if err := replaceFile(filepath.Join(folder, file.name), file.data); err != nil {
			return err
		}
	}
	return nil
}

// replaceFile leaves either the old content or the new, also for a process that
// does the same.
func replaceFile(path string, data []byte) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, data) {
		return nil
	}
	temporary, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = temporary.Write(data)
	if err = errors.Join(err, temporary.Close()); err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(temporary.Name()))
	}
	return err
}
