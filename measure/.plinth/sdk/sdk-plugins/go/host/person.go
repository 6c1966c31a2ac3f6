package host

import "github.com/plinthhost/plinth/abi/v1"

// Ask asks whether action may be done to the resources, which may wait for a person.
// Nil is allowed, for the rest of the call; the kind of a refusal is denied.
func Ask(action string, resources ...string) error {
	_, err := ask[abi.PermissionAsk, abi.None](abi.OpPermissionAsk, abi.PermissionAsk{Action: action, Resources: resources})
	return err
}

// Check answers "allow", "ask" or "deny" for each resource and asks nobody.
func Check(action string, resources ...string) ([]string, error) {
	checked, err := ask[abi.PermissionCheck, abi.PermissionChecked](abi.OpPermissionCheck, abi.PermissionCheck{Action: action, Resources: resources})
	return checked.Effects, err
}

// Question puts questions to the person who follows the session and waits. It answers,
// for each, the labels that were chosen or the text that was written.
func Question(questions ...abi.Question) ([][]string, error) {
	answered, err := ask[abi.QuestionAsk, abi.QuestionAnswered](abi.OpQuestionAsk, abi.QuestionAsk{Questions: questions})
	return answered.Answers, err
}
