package session

import "context"

type Answers struct{}

func NewAnswers([]Permission, []QuestionRequest) *Answers { return &Answers{} }

func (p *Permissions) RulesFor(plugin string, agent string, own []Rule) []Rule {
	return append(p.Rules(plugin), own...)
}
func (p *Permissions) EffectsFor(ctx context.Context, asker Asker, plugin, action string, resources []string) ([]Effect, error) {
	return p.Effects(ctx, asker.Location, plugin, action, resources)
}
func (p *Permissions) Ask(ctx context.Context, asker Asker, q []Question, before bool) ([][]string, error) {
	return nil, nil
}

type TodoLists struct{}

func (*TodoLists) Todos(ctx context.Context, session string) ([]Todo, error)           { return nil, nil }
func (*TodoLists) SetTodos(ctx context.Context, asker Asker, todos []Todo) error       { return nil }

type Tasks struct{}
type TaskCaller struct {
	Session, Message, Call, Agent string
	Model                         ModelRef
	Location                      Location
	Fence                         int64
}

func (*Tasks) Run(ctx context.Context, c TaskCaller, t Task) (TaskResult, error) { return TaskResult{}, nil }
