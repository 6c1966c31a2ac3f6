package meter

import (
	"slices"

	"github.com/plinthhost/plinth/host/wasm/binary"
)

// Small functions that cannot run long are exempt from checks; their callers pay
// for them. A function is exempt when it has no loop, no indirect call and no
// bulk operation, is not called indirectly, cannot come to call itself, and its
// steps with those of its exempt callees are at most exemptSteps.
const (
	exemptSteps = 128
	exemptBytes = 4096 // of code; longer ones are not looked at
)

// graph says which function can come to call which. Node n is the n-th defined
// function; one more stands for what cannot be seen: an indirect call reaches
// every function whose reference is taken, and an import might call any export.
type graph struct {
	edges     []int32
	first     []int32 // first edge by node, and the end
	candidate []bool  // may be exempt as far as its own code goes
	taken     []bool  // its reference is taken
}

// findExempt fills in r.exempt: the steps of exempt functions by place in
// Functions, unreached for the others.
func (r *rewriter) findExempt() {
	n := len(r.in.Functions)
	r.exempt = make([]int64, n)
	for i := range r.exempt {
		r.exempt[i] = unreached
	}
	g := r.callGraph()
	g.eachComponent(func(component []int32) {
		f := component[0]
		if len(component) > 1 || int(f) == n || !g.candidate[f] || g.taken[f] || slices.Contains(g.calls(f), f) {
			return
		}
		r.list = r.in.Bodies[f].Instructions(r.list[:0])
		r.surveyor.survey(r.in.Bodies[f], r.list)
		if r.surveyor.entry <= exemptSteps {
			r.exempt[f] = r.surveyor.entry
			r.report.Exempt++
		}
	})
}

func (g *graph) calls(node int32) []int32 { return g.edges[g.first[node]:g.first[node+1]] }

// callGraph reads all code once.
func (r *rewriter) callGraph() *graph {
	n := len(r.in.Functions)
	g := &graph{
		first: make([]int32, 1, n+2), candidate: make([]bool, n), taken: make([]bool, n),
	}
	r.takenOutsideOfCode(g)
	caller := make([]int32, n+1) // the last one whose edge to the node was noted
	for i := range caller {
		caller[i] = -1
	}
	edge := func(from, to int) {
		if caller[to] != int32(from) {
			caller[to] = int32(from)
			g.edges = append(g.edges, int32(to))
		}
	}
	for f, body := range r.in.Bodies {
		r.list = body.Instructions(r.list[:0])
		g.candidate[f] = len(body.Code) <= exemptBytes
		for _, instr := range r.list {
			switch instr.Op {
			case binary.OpCall:
				edge(f, r.node(instr.X))
			case binary.OpCallIndirect:
				edge(f, n)
				g.candidate[f] = false
			case binary.OpRefFunc:
				r.take(g, instr.X)
			case binary.OpMemoryCopy, binary.OpMemoryFill, binary.OpMemoryInit,
				binary.OpTableCopy, binary.OpTableFill, binary.OpTableInit, binary.OpTableGrow:
				g.candidate[f] = false
			}
		}
		if g.candidate[f] {
			r.surveyor.findLoops(body, r.list)
			g.candidate[f] = r.surveyor.counted == 0
		}
		g.first = append(g.first, int32(len(g.edges)))
	}
	for f := range n {
		if g.taken[f] {
			edge(n, f)
		}
	}
	for _, export := range r.in.Exports {
		if f := r.node(export.Index); export.Kind == binary.KindFunction && f < n {
			edge(n, f)
		}
	}
	g.first = append(g.first, int32(len(g.edges)))
	return g
}

// node is that of a function, the one for the unseen of an import.
func (r *rewriter) node(function uint32) int {
	if function < r.imported {
		return len(r.in.Functions)
	}
	return int(function - r.imported)
}

func (r *rewriter) take(g *graph, function uint32) {
	if function >= r.imported {
		g.taken[function-r.imported] = true
	}
}

func (r *rewriter) takenOutsideOfCode(g *graph) {
	for _, segment := range r.in.Elements {
		for _, entry := range segment.Entries {
			if entry.Op == binary.OpRefFunc {
				r.take(g, entry.Index)
			}
		}
	}
	for _, defined := range r.in.Globals {
		if defined.Init.Op == binary.OpRefFunc {
			r.take(g, uint32(defined.Init.Value))
		}
	}
}

// eachComponent hands out the strongly connected components, callees before
// their callers (Tarjan's algorithm, without recursion).
func (g *graph) eachComponent(visit func(component []int32)) {
	nodes := len(g.first) - 1
	var (
		order  = make([]int32, nodes) // 1 for the first node met, 0 for none yet
		low    = make([]int32, nodes)
		inside = make([]bool, nodes) // on the stack
		next   = slices.Clone(g.first[:nodes])
		stack  []int32
		path   []int32
		met    int32
	)
	enter := func(node int32) {
		met++
		order[node], low[node], inside[node] = met, met, true
		stack, path = append(stack, node), append(path, node)
	}
	for root := range int32(nodes) {
		if order[root] != 0 {
			continue
		}
		enter(root)
		for len(path) > 0 {
			node := path[len(path)-1]
			if next[node] < g.first[node+1] {
				to := g.edges[next[node]]
				next[node]++
				switch {
				case order[to] == 0:
					enter(to)
				case inside[to]:
					low[node] = min(low[node], order[to])
				}
				continue
			}
			path = path[:len(path)-1]
			if len(path) > 0 {
				up := path[len(path)-1]
				low[up] = min(low[up], low[node])
			}
			if low[node] == order[node] {
				at := len(stack) - 1
				for stack[at] != node {
					at--
				}
				for _, member := range stack[at:] {
					inside[member] = false
				}
				visit(stack[at:])
				stack = stack[:at]
			}
		}
	}
}
