package extism

import (
	"testing"

	"github.com/plinthhost/plinth/host/wasm"
	w "github.com/plinthhost/plinth/host/wasm/wasmtest"
)

// kernelCases are the border cases of the kernel's functions.
func kernelCases(g *w.Extism) map[string][]string {
	number := func(n int64) string { return w.Const64(n) }
	plus := func(local uint32, n int64) string { return w.Code(w.Get(local), number(n), w.Add64) }
	ten := w.Code(g.Use("alloc", number(10)), w.Set(w.First))
	same := func(a, b string) string { return w.Code(a, b, w.Eq64, w.Extend) }
	return map[string][]string{
		"nothing":          {},
		"lengths":          {ten, g.Emit(g.Use("length", w.Get(w.First)), g.Use("length_unsafe", w.Get(w.First)), g.Use("length", plus(w.First, 1)))},
		"no_handle_null":   {g.Emit(g.Use("length", number(0)), g.Use("length_unsafe", number(0)))},
		"no_handle_near":   {g.Emit(g.Use("length", number(60_000)), g.Use("length_unsafe", number(50_000)))},
		"no_handle_far":    {g.Emit(g.Use("length", number(1<<24)))},
		"no_handle_unsafe": {g.Emit(g.Use("length_unsafe", number(1<<24)))},
		"no_handle_huge":   {g.Emit(g.Use("length", number(-1)))},
		"operation_far":    {w.Code(g.Use("host_call", number(1<<24), number(0)), w.Set(w.First)), g.Answer(w.First)},
		"empty_alloc":      {g.Emit(g.Use("alloc", number(0)))},
		"free":             {ten, g.Use("free", w.Get(w.First)), g.Emit(g.Use("length", w.Get(w.First)), g.Use("length_unsafe", w.Get(w.First)))},
		"double_free":      {ten, g.Use("free", w.Get(w.First)), g.Use("free", w.Get(w.First)), g.Text(w.Second, "still works"), g.Answer(w.Second)},
		"foreign_free":     {ten, g.Use("free", number(0)), g.Use("free", plus(w.First, 1)), g.Use("free", number(-1)), g.Emit(g.Use("length", w.Get(w.First)))},
		"zeros":            {ten, g.Emit(g.Use("load_u64", w.Get(w.First)), w.Code(g.Use("load_u8", plus(w.First, 9)), w.Extend))},
		"bytes":            {g.Text(w.First, "abcdefghij"), g.Emit(g.Use("load_u64", w.Get(w.First)), g.Use("load_u64", plus(w.First, 1)), w.Code(g.Use("load_u8", plus(w.First, 9)), w.Extend))},
		"straddle":         {g.Text(w.First, "abcdefghij"), w.Code(g.Use("load_u64", plus(w.First, 6)), w.Set(w.Second)), g.Emit(w.Get(w.Second))},
		"wide_store":       {ten, g.Use("store_u64", plus(w.First, 2), number(-2)), g.Emit(g.Use("load_u64", w.Get(w.First)), g.Use("load_u64", plus(w.First, 2)))},
		"byte_wraps":       {ten, g.Use("store_u8", w.Get(w.First), w.Const(0x1ff)), g.Emit(g.Use("load_u64", w.Get(w.First)))},
		"load8_beyond":     {g.Emit(w.Code(g.Use("load_u8", number(1<<24)), w.Extend), w.Code(g.Use("load_u8", number(0)), w.Extend))},
		"load64_beyond":    {g.Emit(g.Use("load_u64", number(1<<24)))},
		"store8_beyond":    {g.Use("store_u8", number(1<<24), w.Const(1)), ten, g.Emit(g.Use("length", w.Get(w.First)))},
		"store64_beyond":   {g.Use("store_u64", number(1<<24), number(1))},

		"input":        {g.Emit(g.Use("input_length"), g.Use("input_load_u64", number(0)), w.Code(g.Use("input_load_u8", number(0)), w.Extend), w.Code(g.Use("input_load_u8", number(2)), w.Extend))},
		"input_past":   {g.Emit(w.Code(g.Use("input_load_u8", number(11)), w.Extend), w.Code(g.Use("input_load_u8", number(-1)), w.Extend), w.Code(g.Use("input_load_u8", number(1<<24)), w.Extend))},
		"input_tail":   {w.Code(g.Use("input_load_u64", number(8)), w.Set(w.First)), g.Emit(w.Get(w.First))},
		"input_beyond": {g.Emit(g.Use("input_load_u64", number(1<<24)))},
		"input_block":  {g.Emit(g.Use("length", g.Use("input_offset")), g.Use("load_u64", g.Use("input_offset")))},
		"input_freed":  {g.Use("free", g.Use("input_offset")), g.Emit(g.Use("input_length"), w.Code(g.Use("input_load_u8", number(0)), w.Extend))},
		"input_set":    {g.Text(w.First, "another"), g.Use("input_set", w.Get(w.First), number(3)), g.Emit(g.Use("input_length"), w.Code(g.Use("input_load_u8", number(0)), w.Extend), same(g.Use("input_offset"), w.Get(w.First)))},
		"echo":         {g.Use("output_set", g.Use("input_offset"), g.Use("input_length"))},

		"output":             {g.Text(w.First, "answer"), g.Answer(w.First)},
		"output_part":        {g.Text(w.First, "answer"), g.Use("output_set", plus(w.First, 2), number(3))},
		"output_empty":       {g.Text(w.First, "answer"), g.Use("output_set", w.Get(w.First), number(0))},
		"output_emptied":     {g.Text(w.First, "answer"), g.Answer(w.First), g.Use("output_set", w.Get(w.First), number(0))},
		"output_none":        {g.Text(w.First, "answer"), g.Answer(w.First), g.Use("output_set", number(0), number(0))},
		"output_beyond":      {g.Text(w.First, "answer"), g.Answer(w.First), g.Use("output_set", number(1<<24), number(4))},
		"output_too_long":    {g.Text(w.First, "answer"), g.Answer(w.First), g.Use("output_set", w.Get(w.First), number(1<<24))},
		"output_twice":       {g.Text(w.First, "one"), g.Answer(w.First), g.Text(w.Second, "second"), g.Answer(w.Second)},
		"output_later":       {g.Text(w.First, "answer"), g.Answer(w.First), g.Use("store_u8", w.Get(w.First), w.Const('A'))},
		"output_freed":       {g.Text(w.First, "answer"), g.Answer(w.First), g.Use("free", w.Get(w.First))},
		"output_told":        {g.Text(w.First, "answer"), g.Answer(w.First), w.Code(g.Use("output_length"), w.Set(w.Second)), g.Emit(w.Get(w.Second))},
		"output_where":       {g.Text(w.First, "answer"), g.Answer(w.First), w.Code(same(g.Use("output_offset"), w.Get(w.First)), w.Set(w.Second)), g.Emit(w.Get(w.Second))},
		"output_after_reset": {g.Text(w.First, "answer"), g.Answer(w.First), g.Use("reset"), g.Text(w.Second, "x"), g.Emit(g.Use("output_length"), g.Use("input_length"), g.Use("error_get"))},
		"reset":              {g.Text(w.First, "answer"), g.Answer(w.First), g.Use("reset")},

		"exit":            {w.Const(7), w.Return},
		"exit_output":     {g.Text(w.First, "answer"), g.Answer(w.First), w.Const(-1), w.Return},
		"error":           {g.Text(w.First, "it failed"), g.Use("error_set", w.Get(w.First)), w.Const(1), w.Return},
		"error_and_zero":  {g.Text(w.First, "it failed"), g.Use("error_set", w.Get(w.First))},
		"error_output":    {g.Text(w.First, "it failed"), g.Use("error_set", w.Get(w.First)), g.Text(w.Second, "answer"), g.Answer(w.Second)},
		"error_cleared":   {g.Text(w.First, "it failed"), g.Use("error_set", w.Get(w.First)), g.Use("error_set", number(0))},
		"error_freed":     {g.Text(w.First, "it failed"), g.Use("error_set", w.Get(w.First)), g.Use("free", w.Get(w.First))},
		"error_inside":    {g.Text(w.First, "it failed"), g.Use("error_set", plus(w.First, 1))},
		"error_beyond":    {g.Text(w.First, "it failed"), g.Use("error_set", w.Get(w.First)), g.Use("error_set", number(1<<24))},
		"error_told":      {g.Text(w.First, "it failed"), g.Use("error_set", w.Get(w.First)), g.Emit(same(g.Use("error_get"), w.Get(w.First))), g.Use("error_set", number(0))},
		"error_not_utf8":  {g.Text(w.First, "it \xff failed"), g.Use("error_set", w.Get(w.First))},
		"trap":            {w.Unreachable},
		"trap_with_error": {g.Text(w.First, "it failed"), g.Use("error_set", w.Get(w.First)), w.Unreachable},
		"proc_exit_0":     {g.Text(w.First, "answer"), g.Answer(w.First), g.Use("proc_exit", w.Const(0))},
		"proc_exit_3":     {g.Text(w.First, "answer"), g.Answer(w.First), g.Use("proc_exit", w.Const(3))},

		"config":         {g.Text(w.First, "colour"), w.Code(g.Use("config_get", w.Get(w.First)), w.Set(w.Second)), g.Answer(w.Second)},
		"config_keeps":   {g.Text(w.First, "colour"), w.Code(g.Use("config_get", w.Get(w.First)), w.Drop), g.Emit(g.Use("length", w.Get(w.First)))},
		"config_missing": {g.Text(w.First, "flavour"), g.Emit(g.Use("config_get", w.Get(w.First)))},
		"config_empty":   {g.Text(w.First, "blank"), g.Emit(g.Use("config_get", w.Get(w.First)))},
		"config_nothing": {g.Emit(g.Use("config_get", number(0)))},

		"log":       {g.Text(w.First, "one line"), g.Use("log_info", w.Get(w.First)), g.Text(w.First, "two\nlines"), g.Use("log_warn", w.Get(w.First)), g.Text(w.First, "bad"), g.Use("log_error", w.Get(w.First)), g.Text(w.First, "d"), g.Use("log_debug", w.Get(w.First)), g.Text(w.First, "t"), g.Use("log_trace", w.Get(w.First))},
		"log_frees": {g.Text(w.First, "one line"), g.Use("log_info", w.Get(w.First)), g.Emit(g.Use("length", w.Get(w.First)))},

		"variable":          {g.Text(w.First, "name"), g.Text(w.Second, "value"), g.Use("var_set", w.Get(w.First), w.Get(w.Second)), g.Text(w.First, "name"), w.Code(g.Use("var_get", w.Get(w.First)), w.Set(w.Second)), g.Answer(w.Second)},
		"variable_frees":    {g.Text(w.First, "name"), g.Text(w.Second, "value"), g.Use("var_set", w.Get(w.First), w.Get(w.Second)), g.Emit(g.Use("length", w.Get(w.First)), g.Use("length", w.Get(w.Second)))},
		"variable_missing":  {g.Text(w.First, "name"), g.Emit(g.Use("var_get", w.Get(w.First)), g.Use("length", w.Get(w.First)))},
		"variable_removed":  {g.Text(w.First, "name"), g.Text(w.Second, "value"), g.Use("var_set", w.Get(w.First), w.Get(w.Second)), g.Text(w.First, "name"), g.Use("var_set", w.Get(w.First), number(0)), g.Text(w.First, "name"), g.Emit(g.Use("var_get", w.Get(w.First)))},
		"variable_too_long": {g.Text(w.First, "name"), w.Code(g.Use("alloc", number(1<<20)), w.Set(w.Second)), g.Use("var_set", w.Get(w.First), w.Get(w.Second))},

		"operation":          {g.Text(w.First, "echo"), g.Text(w.Second, "request"), w.Code(g.Use("host_call", w.Get(w.First), w.Get(w.Second)), w.Set(w.Third)), g.Answer(w.Third)},
		"operation_keeps":    {g.Text(w.First, "echo"), g.Text(w.Second, "request"), w.Code(g.Use("host_call", w.Get(w.First), w.Get(w.Second)), w.Drop), g.Emit(g.Use("length", w.Get(w.First)), g.Use("length", w.Get(w.Second)))},
		"operation_nothing":  {g.Text(w.First, "nothing"), g.Emit(g.Use("host_call", w.Get(w.First), number(0)))},
		"operation_nameless": {w.Code(g.Use("host_call", number(0), number(60_000)), w.Set(w.First)), g.Answer(w.First)},

		"http_refused": {g.Text(w.First, `{"url":"http://127.0.0.1:1/"}`), g.Emit(g.Use("http_request", w.Get(w.First), number(0)))},
		"http_bad":     {g.Text(w.First, "no JSON"), g.Emit(g.Use("http_request", w.Get(w.First), number(0)))},
		"http_none":    {w.Code(g.Use("http_headers"), w.Set(w.First)), g.Emit(w.Code(g.Use("http_status_code"), w.Extend), g.Use("length", w.Get(w.First)), w.Code(g.Use("load_u8", w.Get(w.First)), w.Extend))},
	}
}

// TestKernel compares every border case.
func TestKernel(t *testing.T) {
	g := w.NewExtism("plinth_abi_1")
	cases := kernelCases(g)
	for name, code := range cases {
		g.Entry(name, code...)
	}
	module := g.Bytes()
	engine, oracle := hosts(t, wasm.Spec{
		Wasm: module, Entries: entries(t, module), Config: map[string]string{"colour": "green", "blank": ""},
	})
	if got, want := len(entries(t, module)), len(cases); got != want {
		t.Fatalf("%d entries of %d cases", got, want)
	}
	for name := range cases {
		t.Run(name, func(t *testing.T) { compare(t, engine, oracle, name, "some input") })
	}
}
