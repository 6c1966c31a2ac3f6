package bridge

import (
	"context"
	"errors"
	"slices"

	abi "github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/host/trust"
	"github.com/plinthhost/plinth/session"
)

// Limits of the session's operations.
const (
	MaxQuestions   = 10
	MaxOptions     = 20
	MaxTodos       = 200
	MaxPromptBytes = 256 << 10
	maxWords       = 4 << 10 // of a question, an option, a todo, in bytes
)

// port is what the session serves of an operation, when the plugin may use it.
func port[P any](o *operations, operation string) (served P, err error) {
	if !o.reach.Session[operation] {
		return served, o.noSession(operation)
	}
	served, ok := o.host.(P)
	if !ok {
		return served, refuse(abi.KindUnavailable, "this host does not serve %s", operation)
	}
	return served, nil
}

func (o *operations) noSession(operation string) *abi.Error {
	return o.noGrant(operation, grantSession, func(r trust.RequestRecord) bool { return r.Kind == trust.KindSession && r.Operation == operation })
}

func (o *operations) sessionInfo(ctx context.Context, _ abi.None, _ []byte) (any, []byte, error) {
	if !o.reach.Session[abi.OpSessionInfo] {
		return nil, nil, o.noSession(abi.OpSessionInfo)
	}
	info := abi.SessionInfo{Session: o.session, Location: wireLocation(o.location, o.reach.Clock.Now())}
	if served, ok := o.host.(session.Describer); ok {
		described, err := served.Describe(ctx)
		if err != nil {
			return nil, nil, err
		}
		info.Title, info.Model = described.Title, wireModel(described.Model)
	}
	return info, nil, nil
}

func (o *operations) question(ctx context.Context, request abi.QuestionAsk, _ []byte) (any, []byte, error) {
	served, err := port[session.Questioner](o, abi.OpQuestionAsk)
	if err != nil {
		return nil, nil, err
	}
	questions, err := questionsOf(request)
	if err != nil {
		return nil, nil, err
	}
	var answers [][]string
	tool, ok := o.asked.(*toolAuthority)
	before := ok && tool.before(ctx)
	err = wait(ctx, func(ctx context.Context) (err error) {
		answers, err = served.Question(ctx, questions, before)
		return err
	})
	return abi.QuestionAnswered{Answers: answers}, nil, err
}

func questionsOf(request abi.QuestionAsk) ([]session.Question, error) {
	if n := len(request.Questions); n == 0 || n > MaxQuestions {
		return nil, refuse(abi.KindInvalidInput, "there are %d questions; there must be 1 to %d", n, MaxQuestions)
	}
	questions := make([]session.Question, len(request.Questions))
	for i, asked := range request.Questions {
		switch {
		case asked.Text == "" || len(asked.Text) > maxWords || len(asked.Header) > maxWords:
			return nil, refuse(abi.KindInvalidInput, "question %d: the text must have 1 to %d bytes, and the header no more", i, maxWords)
		case len(asked.Options) > MaxOptions:
			return nil, refuse(abi.KindInvalidInput, "question %d has %d options; the most is %d", i, len(asked.Options), MaxOptions)
		case len(asked.Options) == 0 && !asked.Custom:
			return nil, refuse(abi.KindInvalidInput, "question %d has no options and takes no text; nobody can answer it", i)
		}
		questions[i] = session.Question{Header: asked.Header, Text: asked.Text, Multiple: asked.Multiple, Custom: asked.Custom}
		for j, option := range asked.Options {
			if option.Label == "" || len(option.Label) > maxWords || len(option.Description) > maxWords {
				return nil, refuse(abi.KindInvalidInput, "question %d, option %d: the label must have 1 to %d bytes, and the description no more", i, j, maxWords)
			}
			questions[i].Options = append(questions[i].Options, session.QuestionOption(option))
		}
	}
	return questions, nil
}

func (o *operations) task(ctx context.Context, request abi.TaskRun, _ []byte) (any, []byte, error) {
	served, err := port[session.TaskRunner](o, abi.OpTaskRun)
	switch {
	case err != nil:
		return nil, nil, err
	case request.Prompt == "" || len(request.Prompt) > MaxPromptBytes:
		return nil, nil, refuse(abi.KindInvalidInput, "prompt has %d bytes; it must have 1 to %d", len(request.Prompt), MaxPromptBytes)
	case request.Agent == "":
		return nil, nil, refuse(abi.KindInvalidInput, "agent is missing")
	case max(len(request.Description), len(request.Agent), len(request.Session)) > maxWords:
		return nil, nil, refuse(abi.KindInvalidInput, "description, agent and session may have %d bytes each", maxWords)
	}
	var result session.TaskResult
	err = wait(ctx, func(ctx context.Context) (err error) {
		result, err = served.RunTask(ctx, session.Task(request))
		return err
	})
	return abi.TaskRan(result), nil, err
}

func (o *operations) todoGet(ctx context.Context, _ abi.None, _ []byte) (any, []byte, error) {
	served, err := port[session.TodoKeeper](o, abi.OpTodoGet)
	if err != nil {
		return nil, nil, err
	}
	todos, err := served.Todos(ctx)
	list := abi.TodoList{Todos: make([]abi.Todo, len(todos))}
	for i, todo := range todos {
		list.Todos[i] = abi.Todo(todo)
	}
	return list, nil, err
}

func (o *operations) todoSet(ctx context.Context, request abi.TodoList, _ []byte) (any, []byte, error) {
	served, err := port[session.TodoKeeper](o, abi.OpTodoSet)
	if err != nil {
		return nil, nil, err
	}
	if len(request.Todos) > MaxTodos {
		return nil, nil, refuse(abi.KindLimit, "there are %d todos; the most is %d", len(request.Todos), MaxTodos)
	}
	todos := make([]session.Todo, len(request.Todos))
	seen := map[string]bool{}
	for i, todo := range request.Todos {
		switch {
		case todo.ID == "" || seen[todo.ID]:
			return nil, nil, refuse(abi.KindInvalidInput, "todo %d: id %q is empty or there already", i, clip(todo.ID))
		case todo.Content == "" || len(todo.Content) > maxWords || len(todo.ID) > maxWords:
			return nil, nil, refuse(abi.KindInvalidInput, "todo %d: the content must have 1 to %d bytes", i, maxWords)
		case !slices.Contains([]string{"pending", "in_progress", "completed", "cancelled"}, todo.Status):
			return nil, nil, refuse(abi.KindInvalidInput, "todo %d: status is %q; it must be pending, in_progress, completed or cancelled", i, clip(todo.Status))
		case !slices.Contains([]string{"high", "medium", "low"}, todo.Priority):
			return nil, nil, refuse(abi.KindInvalidInput, "todo %d: priority is %q; it must be high, medium or low", i, clip(todo.Priority))
		}
		seen[todo.ID] = true
		todos[i] = session.Todo(todo)
	}
	return request, nil, served.SetTodos(ctx, todos)
}

func (o *operations) skillList(ctx context.Context, _ abi.None, _ []byte) (any, []byte, error) {
	served, err := port[session.SkillShelf](o, abi.OpSkillList)
	if err != nil {
		return nil, nil, err
	}
	skills, err := served.Skills(ctx)
	listed := abi.SkillListed{Skills: make([]abi.Skill, len(skills))}
	for i, skill := range skills {
		listed.Skills[i] = abi.Skill{Name: skill.Name, Description: skill.Description}
	}
	return listed, nil, err
}

func (o *operations) skillGet(ctx context.Context, request abi.SkillGet, _ []byte) (any, []byte, error) {
	served, err := port[session.SkillShelf](o, abi.OpSkillGet)
	if err != nil {
		return nil, nil, err
	}
	var skill session.Skill
	err = wait(ctx, func(ctx context.Context) (err error) {
		skill, err = served.Skill(ctx, request.Name)
		return err
	})
	if errors.Is(err, session.ErrNotFound) {
		return nil, nil, refuse(abi.KindNotFound, "there is no skill %q", clip(request.Name))
	}
	return abi.SkillText{Skill: abi.Skill{Name: skill.Name, Description: skill.Description}, Text: skill.Text, Directory: skill.Directory}, nil, err
}
