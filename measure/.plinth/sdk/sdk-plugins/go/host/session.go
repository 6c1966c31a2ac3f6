package host

import "github.com/plinthhost/plinth/abi/v1"

// Info tells of the session.
func Info() (abi.SessionInfo, error) {
	return ask[abi.None, abi.SessionInfo](abi.OpSessionInfo, abi.None{})
}

// Task has a prompt worked on in a session of its own and waits for the answer, unless
// it is to go on in the background.
func Task(request abi.TaskRun) (abi.TaskRan, error) {
	return ask[abi.TaskRun, abi.TaskRan](abi.OpTaskRun, request)
}

// Todos answers the session's list.
func Todos() ([]abi.Todo, error) {
	list, err := ask[abi.None, abi.TodoList](abi.OpTodoGet, abi.None{})
	return list.Todos, err
}

// SetTodos puts a list in its place.
func SetTodos(todos ...abi.Todo) error {
	if todos == nil {
		todos = []abi.Todo{}
	}
	_, err := ask[abi.TodoList, abi.TodoList](abi.OpTodoSet, abi.TodoList{Todos: todos})
	return err
}

// Skills lists the skills that the agent may use.
func Skills() ([]abi.Skill, error) {
	listed, err := ask[abi.None, abi.SkillListed](abi.OpSkillList, abi.None{})
	return listed.Skills, err
}

// Skill answers one by its name.
func Skill(name string) (abi.SkillText, error) {
	return ask[abi.SkillGet, abi.SkillText](abi.OpSkillGet, abi.SkillGet{Name: name})
}
