package wasm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"syscall"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// Compiling is where a hostile module costs most, and the compiler cannot be
// interrupted. A module that does not ship with the program is compiled in a child
// process of the same program; the machine code comes back through the cache.

// CompileLimits bound the compilation of one module in a child. Zero fields take
// the default.
type CompileLimits struct {
	MemoryMiB int           // of the child; 1024
	Base      time.Duration // of processor time; 2 s
	PerMiB    time.Duration // of processor time, for each MiB of the module; 6 s
}

func (l CompileLimits) withDefaults() CompileLimits {
	set(&l.MemoryMiB, 1024)
	set(&l.Base, 2*time.Second)
	set(&l.PerMiB, 6*time.Second)
	return l
}

// compilerTime is what sets a child's time.
const compilerTime = "CompileLimits.Base and PerMiB"

// wallFactor is how much longer than its processor time a child may take: the
// machine may be busy.
const wallFactor = 8

// compileJob is what a child is asked to do, on its standard input.
type compileJob struct {
	Module      string        `json:"module"` // path
	Folder      string        `json:"folder"` // of the cache
	MemoryPages uint32        `json:"memory_pages"`
	MemoryMiB   int           `json:"memory_mib"`
	Processor   time.Duration `json:"processor"`
}

// Exit codes of a child.
const (
	exitCrashed   = 2  // of Go, after a panic, whose first line stands first on standard error
	exitRefused   = 65 // the compiler refused the module; the reason is on standard output
	exitMemory    = 66
	exitProcessor = 67
	exitBroken    = 70 // the job cannot be done here
)

// Compile is the child's whole program: it reads a job, compiles the module into
// the cache and answers the exit code. A command of the program calls it.
func Compile(stdin io.Reader, stdout io.Writer) int {
	code, err := compile(stdin)
	if err == nil {
		return 0
	}
	if _, lost := io.WriteString(stdout, clean(err.Error(), maxLine)); lost != nil {
		return exitBroken
	}
	return code
}

func compile(stdin io.Reader) (code int, err error) {
	var job compileJob
	if err := json.NewDecoder(stdin).Decode(&job); err != nil {
		return exitBroken, fmt.Errorf("read the job: %w", err)
	}
	module, err := os.ReadFile(job.Module)
	if err != nil {
		return exitBroken, fmt.Errorf("read the module: %w", err)
	}
	// It lives for one module: what it leaves is collected only when a quarter of what it
	// may have is used.
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(int64(job.MemoryMiB) << 20 / 4)
	go watch(job) // ends with the process
	return exitRefused, compileInto(module, job.Folder, job.MemoryPages)
}

// watch ends the process when it takes more than the job allows.
func watch(job compileJob) {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	for range time.Tick(2 * time.Millisecond) {
		metrics.Read(sample)
		if sample[0].Value.Uint64() > uint64(job.MemoryMiB)<<20 {
			os.Exit(exitMemory)
		}
		var usage syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err == nil &&
			time.Duration(usage.Utime.Nano()+usage.Stime.Nano()) > job.Processor {
			os.Exit(exitProcessor)
		}
	}
}

// compileWorkers is how many functions a child compiles at a time: a large module waits
// less. More would let a module of huge functions take as many times the memory. The code
// is the same.
const compileWorkers = 2

// compileInto compiles a module into the cache folder and releases it. What a worker
// panics with ends the process, see exitCrashed.
func compileInto(module []byte, folder string, pages uint32) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("the compiler failed: %v", fault)
		}
	}()
	cache, err := wazero.NewCompilationCacheWithDir(folder)
	if err != nil {
		return fmt.Errorf("open the compilation cache: %w", err)
	}
	ctx := experimental.WithCompilationWorkers(context.Background(), compileWorkers)
	runtime := wazero.NewRuntimeWithConfig(ctx, runtimeConfig(pages).WithCompilationCache(cache))
	_, err = runtime.CompileModule(ctx, module)
	return errors.Join(err, runtime.Close(ctx), cache.Close(ctx))
}

// runtimeConfig allows a page more than the guest may have, which its memory
// refuses: a memory at wazero's own limit could not be made shorter.
func runtimeConfig(pages uint32) wazero.RuntimeConfig {
	return wazero.NewRuntimeConfigCompiler().
		WithCoreFeatures(api.CoreFeaturesV2).
		WithMemoryLimitPages(pages + 1).
		WithDebugInfoEnabled(false)
}

// outside says whether the module has to be compiled by a child.
func (m *Module) outside() bool { return m.engine.options.Compiler != nil && !m.spec.Builtin }

// compileOutside has a child compile the module into a folder. One child works at
// a time.
func (m *Module) compileOutside(ctx context.Context, folder string) error {
	select {
	case m.engine.compilers <- struct{}{}:
		defer func() { <-m.engine.compilers }()
	case <-ctx.Done():
		return endOf(ctx)
	}
	limits := m.engine.options.CompileLimits
	processor := limits.Base + time.Duration(float64(limits.PerMiB)*float64(len(m.prepared.Wasm))/(1<<20))
	job, err := json.Marshal(compileJob{
		Module: filepath.Join(m.folder, metered), Folder: folder,
		MemoryPages: m.spec.Limits.pages(), MemoryMiB: limits.MemoryMiB, Processor: processor,
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, wallFactor*processor, ErrDeadline)
	defer cancel()
	child := m.engine.options.Compiler(ctx)
	var said, crash bytes.Buffer
	child.Stdin, child.Stdout = bytes.NewReader(job), &limitedBuffer{buffer: &said, left: maxLine}
	if child.Stderr == nil {
		child.Stderr = &limitedBuffer{buffer: &crash, left: maxLine}
	}
	child.WaitDelay = time.Second
	err = child.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == exitCrashed {
		line, _, _ := strings.Cut(crash.String(), "\n")
		return fmt.Errorf("the compiler failed: %s", clean(line, maxLine))
	}
	return compileFailure(ctx, err, said.String(), limits, processor)
}

// compileFailure is what the end of a child means.
func compileFailure(ctx context.Context, err error, said string, limits CompileLimits, processor time.Duration) error {
	if err == nil {
		return nil
	}
	if ended := endOf(ctx); errors.Is(ended, ErrDeadline) {
		return &LimitError{What: "milliseconds to compile it", Limit: (wallFactor * processor).Milliseconds(), Knob: compilerTime}
	} else if ended != nil {
		return fmt.Errorf("compile in a child process: %w", ended)
	}
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return fmt.Errorf("start the compiler's process: %w", err)
	}
	switch exit.ExitCode() {
	case exitRefused:
		return errors.New(clean(said, maxLine))
	case exitMemory:
		return &LimitError{What: "MiB of memory to compile it", Limit: int64(limits.MemoryMiB), Knob: "CompileLimits.MemoryMiB"}
	case exitProcessor:
		return &LimitError{What: "milliseconds of processor time to compile it", Limit: processor.Milliseconds(), Knob: compilerTime}
	}
	return fmt.Errorf("the compiler's process ended: %w: %s", err, clean(said, maxLine))
}

// limitedBuffer keeps the beginning of what is written.
type limitedBuffer struct {
	buffer *bytes.Buffer
	left   int
}

func (l *limitedBuffer) Write(p []byte) (int, error) {
	kept := p[:min(len(p), l.left)]
	l.left -= len(kept)
	l.buffer.Write(kept)
	return len(p), nil
}
