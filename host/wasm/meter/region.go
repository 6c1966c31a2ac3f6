package meter

import "github.com/plinthhost/plinth/host/wasm/binary"

// A region is what one charge pays for: a function without its loops, or the
// body of a loop without those within. Its steps are the most that can run from
// its beginning until it ends or begins again. Only loops go back, so one walk in
// the order of the code that keeps the dearest way to each label finds them, and
// what is charged is an upper bound of what runs before the next charge.

// Long regions are divided: a charge at the beginning cannot stop what runs behind
// it. On every way through a region a yield stands after at most yieldSteps. It
// charges nothing.
const yieldSteps = 8 << 10

// regions are the loops of a body and the steps of its regions.
type regions struct {
	branched []bool  // by loop in order of the code: something branches to its head
	steps    []int64 // of those loops
	entry    int64   // steps of the function itself
	counted  int     // loops that are branched to
	yields   []int   // the instructions that a yield stands before, ascending
}

// unreached is the cost of a place that nothing reaches.
const unreached = -1

// surveyor walks bodies. It is used again for the next one.
type surveyor struct {
	regions
	cost   func(list []binary.Instr, i int) int64
	every  int64 // yieldSteps
	frames []frame
	open   []openRegion
	now    int64 // the dearest way to here from the beginning of the region
	since  int64 // the same from the last yield, or the beginning
	labels []uint32
}

// frame is a block that is open.
type frame struct {
	op     binary.Op
	loop   int32 // the number of a loop that is branched to, else -1
	region int32 // the place in open of the region it is in; of such a loop, its own
	start  int64 // of an if: the cost at its beginning
	out    int64 // the dearest way to its end by a branch

	sinceStart, sinceOut int64 // of start and out
}

// openRegion is a region that is not finished: before is the cost of its loop's
// place in the region around it.
type openRegion struct {
	before, most int64
	since        int64 // at the same place
}

// findLoops notes which loops something branches to; the others are blocks.
func (s *surveyor) findLoops(body binary.Body, list []binary.Instr) {
	s.branched, s.frames, s.counted = s.branched[:0], s.frames[:0], 0
	s.push(frame{op: binary.OpBlock, loop: -1})
	target := func(label uint32) {
		if f := s.frames[len(s.frames)-1-int(label)]; f.loop >= 0 && !s.branched[f.loop] {
			s.branched[f.loop] = true
			s.counted++
		}
	}
	for _, instr := range list {
		switch instr.Op {
		case binary.OpBlock, binary.OpIf:
			s.push(frame{op: instr.Op, loop: -1})
		case binary.OpLoop:
			s.push(frame{op: instr.Op, loop: int32(len(s.branched))})
			s.branched = append(s.branched, false)
		case binary.OpEnd:
			s.frames = s.frames[:len(s.frames)-1]
		case binary.OpBr, binary.OpBrIf:
			target(instr.X)
		case binary.OpBrTable:
			s.labels = body.Labels(instr, s.labels[:0])
			for _, label := range s.labels {
				target(label)
			}
		}
	}
}

func (s *surveyor) push(f frame) { s.frames = append(s.frames, f) }

// survey finds the regions of a body.
func (s *surveyor) survey(body binary.Body, list []binary.Instr) {
	s.findLoops(body, list)
	s.steps = append(s.steps[:0], make([]int64, len(s.branched))...)
	s.open = append(s.open[:0], openRegion{before: unreached})
	s.frames, s.now, s.since, s.yields = s.frames[:0], 0, 0, s.yields[:0]
	s.push(frame{op: binary.OpBlock, loop: -1, out: unreached})
	loops := int32(0)
	for i, instr := range list {
		switch instr.Op {
		case binary.OpBlock:
			s.openBlock(instr.Op)
		case binary.OpIf:
			s.pass(i, 1)
			s.openBlock(instr.Op)
		case binary.OpLoop:
			if s.branched[loops] {
				s.openLoop(loops)
			} else {
				s.openBlock(instr.Op)
			}
			loops++
		case binary.OpElse:
			f := &s.frames[len(s.frames)-1]
			f.op = instr.Op
			f.join(s.now, s.since)
			s.now, s.since = f.start, f.sinceStart
		case binary.OpEnd:
			s.end()
		case binary.OpBr, binary.OpBrIf, binary.OpBrTable:
			s.pass(i, s.cost(list, i))
			s.branch(body, instr)
		case binary.OpReturn, binary.OpUnreachable:
			s.pass(i, 1)
			s.now = unreached
		default:
			s.pass(i, s.cost(list, i))
		}
	}
}

// pass goes past instruction i.
func (s *surveyor) pass(i int, cost int64) {
	if s.now == unreached {
		return
	}
	if s.since += cost; s.since > s.every {
		s.yields = append(s.yields, i)
		s.since = cost
	}
	s.now += cost
	region := &s.open[len(s.open)-1]
	region.most = max(region.most, s.now)
}

// join takes a way to the end of the frame.
func (f *frame) join(now, since int64) {
	if now != unreached {
		f.out, f.sinceOut = max(f.out, now), max(f.sinceOut, since)
	}
}

func (s *surveyor) openBlock(op binary.Op) {
	s.push(frame{op: op, loop: -1, region: int32(len(s.open) - 1), start: s.now, out: unreached, sinceStart: s.since})
}

func (s *surveyor) openLoop(loop int32) {
	s.open = append(s.open, openRegion{before: s.now, since: s.since})
	s.push(frame{op: binary.OpLoop, loop: loop, region: int32(len(s.open) - 1)})
	s.now, s.since = 0, 0
}

func (s *surveyor) end() {
	f := s.frames[len(s.frames)-1]
	s.frames = s.frames[:len(s.frames)-1]
	if f.loop >= 0 {
		region := s.open[len(s.open)-1]
		s.open = s.open[:len(s.open)-1]
		s.steps[f.loop] = region.most
		if s.now != unreached {
			s.now, s.since = region.before, region.since
		}
		return
	}
	if f.op == binary.OpIf { // without an else
		f.join(f.start, f.sinceStart)
	}
	f.join(s.now, s.since)
	s.now, s.since = f.out, f.sinceOut
	if len(s.frames) == 0 {
		s.entry = s.open[0].most
	}
}

func (s *surveyor) branch(body binary.Body, instr binary.Instr) {
	switch instr.Op {
	case binary.OpBrTable:
		s.labels = body.Labels(instr, s.labels[:0])
		for _, label := range s.labels {
			s.arrive(label)
		}
	default:
		s.arrive(instr.X)
	}
	if instr.Op != binary.OpBrIf {
		s.now = unreached
	}
}

// arrive takes the way here to a label. From within loops it costs the label's
// region what their place in it costs: they pay for themselves.
func (s *surveyor) arrive(label uint32) {
	f := &s.frames[len(s.frames)-1-int(label)]
	if f.loop >= 0 || s.now == unreached {
		return // a way ends where its region begins again
	}
	here, since := s.now, s.since
	if inner := int(f.region) + 1; inner < len(s.open) {
		here, since = s.open[inner].before, s.open[inner].since
	}
	f.join(here, since)
}
