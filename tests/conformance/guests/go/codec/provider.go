package main

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/plinthhost/plinth/abi/v1"
	plinth "github.com/plinthhost/plinth/sdk-plugins/go"
	"github.com/plinthhost/plinth/sdk-plugins/go/provider"
	"github.com/plinthhost/plinth/sdk-plugins/go/random"
)

type codec struct{}

func (codec) Encode(request abi.ModelRequest) (abi.ProviderEncoded, error) {
	headers := map[string]string{"content-type": "application/json"}
	switch request.Model {
	case "none":
		return abi.ProviderEncoded{}, plinth.Errorf(abi.KindInvalidInput, "there is no model %q", request.Model)
	case "random":
		headers["x-random"] = fmt.Sprintf("%016x", random.Rand().Uint64())
	}
	body, err := json.Marshal(request)
	return abi.ProviderEncoded{
		Method: "POST", Path: "/v1/" + request.Model, Query: map[string]string{"purpose": request.Purpose}, Headers: headers, Body: body,
	}, err
}

// state is the number of frames so far, told as usage at the end.
type state struct {
	Frames int64 `json:"frames"`
}

func (codec) Decode(before []byte, frames []abi.Frame, end bool, events *provider.Events) ([]byte, error) {
	var seen state
	if before != nil {
		if err := json.Unmarshal(before, &seen); err != nil {
			return nil, err
		}
	}
	for _, frame := range frames {
		seen.Frames++
		switch frame.Event {
		case "text":
			events.Text("t", frame.Data)
		case "tool":
			events.ToolStart("c", "look")
			events.ToolInput("c", frame.Data)
			events.ToolEnd("c")
		case "hosted":
			events.HostedStart("h", "search")
			events.ToolInput("h", `{"q":1}`)
			events.ToolEndWith("h", []byte(`{"item":"call"}`))
			events.HostedResult("h", provider.Result{Text: frame.Data, Value: []byte(`{"hits":[{"url":"x"}]}`), Metadata: []byte(`{"item":"result"}`)})
		case "refused":
			events.HostedStart("r", "search")
			events.HostedResult("r", provider.Result{Text: frame.Data, Failed: true})
		case "finish":
			events.Finish(frame.Data)
		default:
			return nil, plinth.Errorf(abi.KindInvalidInput, "unknown event %q", frame.Event)
		}
	}
	if end {
		events.Usage(abi.Usage{Input: seen.Frames})
	}
	return json.Marshal(seen)
}

func (codec) Classify(response abi.ProviderClassify) abi.ProviderError {
	told := abi.ProviderError{Classification: abi.ClassUnknown, Message: response.Body}
	switch response.Status {
	case 401:
		told.Classification = abi.ClassAuthentication
	case 429:
		told.Classification, told.Retryable = abi.ClassRateLimit, true
		if seconds, err := strconv.ParseInt(response.Headers["retry-after"], 10, 64); err == nil {
			told.RetryAfterMS = seconds * 1000
		}
	}
	return told
}
