package shell

import (
	"mvdan.cc/sh/v3/syntax"
)

func (s *scan) statements(list []*syntax.Stmt, in places) after {
	out := stay(in)
	for _, statement := range list {
		out = s.statement(statement, out.all())
	}
	return out
}

func (s *scan) statement(statement *syntax.Stmt, in places) after {
	for _, r := range statement.Redirs {
		s.redirect(r, in)
	}
	if statement.Cmd == nil {
		return stay(in)
	}
	out := s.command(statement.Cmd, in)
	if statement.Background || statement.Coprocess {
		return stay(in)
	}
	if statement.Negated {
		out.ok, out.failed = out.failed, out.ok
	}
	return out
}

func (s *scan) command(command syntax.Command, in places) after {
	switch c := command.(type) {
	case *syntax.CallExpr:
		return s.call(c, in)
	case *syntax.DeclClause:
		return s.declare(c, in)
	case *syntax.BinaryCmd:
		return s.binary(c, in)
	case *syntax.Block:
		return s.statements(c.Stmts, in)
	case *syntax.Subshell:
		s.statements(c.Stmts, in)
		return stay(in)
	case *syntax.IfClause:
		return s.conditional(c, in)
	case *syntax.WhileClause:
		return s.loop(in, func(in places) after {
			return s.statements(c.Do, s.statements(c.Cond, in).all())
		})
	case *syntax.ForClause:
		return s.each(c, in)
	case *syntax.CaseClause:
		return s.choice(c, in)
	case *syntax.FuncDecl:
		return s.declareFunction(c, in)
	case *syntax.TimeClause:
		if c.Stmt == nil {
			return stay(in)
		}
		return s.statement(c.Stmt, in)
	case *syntax.CoprocClause:
		s.expansions(c.Name, in)
		s.statement(c.Stmt, in)
		return stay(in)
	case *syntax.TestClause, *syntax.ArithmCmd, *syntax.LetClause:
		s.expansions(c, in)
		return stay(in)
	}
	s.unknown(UnknownText, s.source(command), "this form of command is not understood here")
	return anywhere()
}

// declareFunction looks at a body as if it were called from anywhere.
func (s *scan) declareFunction(c *syntax.FuncDecl, in places) after {
	if name := c.Name.Value; s.builtin(name) != nil || wrappers[name].inShell {
		s.unknown(UnknownCommand, s.source(c), "it gives a command of the shell another meaning")
	}
	s.statement(c.Body, places{unknown: true})
	return stay(in)
}

func (s *scan) binary(c *syntax.BinaryCmd, in places) after {
	x := s.statement(c.X, in)
	switch c.Op {
	case syntax.AndStmt:
		y := s.statement(c.Y, x.ok)
		return after{y.ok, x.failed.or(y.failed)}
	case syntax.OrStmt:
		y := s.statement(c.Y, x.failed)
		return after{x.ok.or(y.ok), y.failed}
	}
	// The parts of a pipeline have shells of their own; the last one may have not.
	return s.statement(c.Y, in).or(stay(in))
}

func (s *scan) conditional(c *syntax.IfClause, in places) after {
	condition := s.statements(c.Cond, in)
	if len(c.Cond) == 0 { // a plain else
		return s.statements(c.Then, in)
	}
	out := s.statements(c.Then, condition.ok)
	if c.Else == nil {
		return out.or(stay(condition.failed))
	}
	return out.or(s.conditional(c.Else, condition.failed))
}

// loop looks at a body that runs any number of times.
func (s *scan) loop(in places, body func(places) after) after {
	if s.shell.loopsMove {
		in = places{unknown: true}
	}
	return stay(in.or(body(in).all()))
}

func (s *scan) each(c *syntax.ForClause, in places) after {
	s.expansions(c.Loop, in)
	if names, ok := c.Loop.(*syntax.WordIter); ok {
		s.variable(names.Name.Value, false, s.source(names))
	}
	return s.loop(in, func(in places) after { return s.statements(c.Do, in) })
}

func (s *scan) choice(c *syntax.CaseClause, in places) after {
	s.expansions(c.Word, in)
	out := stay(in)
	for _, item := range c.Items {
		for _, pattern := range item.Patterns {
			s.expansions(pattern, in)
		}
		// One item may run on into the next.
		out = out.or(s.statements(item.Stmts, out.all()))
	}
	return out
}

// substituted looks at the commands of a substitution.
func (s *scan) substituted(list []*syntax.Stmt, backquoted bool, in places) {
	defer func(backquoted, reprinted bool) { s.backquoted, s.reprinted = backquoted, reprinted }(s.backquoted, s.reprinted)
	s.backquoted = s.backquoted || backquoted
	s.reprinted = s.reprinted || len(list) != 1 || !isCall(list[0])
	s.statements(list, in)
}

func isCall(statement *syntax.Stmt) bool {
	_, ok := statement.Cmd.(*syntax.CallExpr)
	return ok
}

// expansions looks at the commands that run while node is being expanded.
func (s *scan) expansions(node syntax.Node, in places) {
	if isNil(node) {
		return
	}
	syntax.Walk(node, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.CmdSubst:
			s.substituted(n.Stmts, n.Backquotes, in)
			return false
		case *syntax.ProcSubst:
			s.substituted(n.Stmts, false, in)
			return false
		case *syntax.ParamExp:
			s.parameter(n)
		case *syntax.ArithmExp:
			s.arithmetic(n.X)
		case *syntax.ArithmCmd:
			s.arithmetic(n.X)
		case *syntax.LetClause:
			for _, x := range n.Exprs {
				s.arithmetic(x)
			}
		case *syntax.CStyleLoop:
			for _, x := range []syntax.ArithmExpr{n.Init, n.Cond, n.Post} {
				s.arithmetic(x)
			}
		case *syntax.UnaryTest:
			s.unaryTest(n)
		case *syntax.BinaryTest:
			s.binaryTest(n)
		case *syntax.ExtGlob:
			s.extendedGlob(n)
		}
		return true
	})
}

// isNil reports a missing node, which Walk does not take. A typed nil pointer is
// one too.
func isNil(node syntax.Node) bool {
	w, ok := node.(*syntax.Word)
	return node == nil || ok && w == nil
}
