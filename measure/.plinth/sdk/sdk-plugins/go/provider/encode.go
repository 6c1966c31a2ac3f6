package provider

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/internal/guest"
	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
)

func encode(message []byte) []byte {
	body, _, err := abi.DecodeMessage(message)
	if err != nil {
		return guest.Fail(guest.Invalid(err))
	}
	guest.Reserve(8 * len(body)) // itself, the texts without escapes, the body, the answer, the lists
	call, err := readEncode(body)
	if err != nil {
		return guest.Fail(guest.Invalid(err))
	}
	codec, err := find(call.Provider)
	if err != nil {
		return guest.Fail(err)
	}
	encoded, err := codec.Encode(call.Request)
	if err == nil {
		err = checkBody(encoded.Body)
	}
	if err != nil {
		return guest.Fail(err)
	}
	return answerEncoded(encoded)
}

// checkBody keeps a codec's mistake from making the whole answer unreadable.
func checkBody(body []byte) error {
	if len(body) == 0 {
		return nil
	}
	if err := jsonscan.Valid(body); err != nil {
		return fmt.Errorf("the body of the encoded request: %w", err)
	}
	return nil
}

// answerEncoded is the answer {"ok": encoded}.
func answerEncoded(encoded abi.ProviderEncoded) []byte {
	message := append(make([]byte, 4, 512+len(encoded.Body)), `{"ok":{`...)
	message = jsonscan.AppendString(jsonscan.AppendField(message, "method"), encoded.Method)
	message = jsonscan.AppendString(jsonscan.AppendField(message, "path"), encoded.Path)
	message = appendTexts(message, "query", encoded.Query)
	message = appendTexts(message, "headers", encoded.Headers)
	message = jsonscan.AppendRawField(message, "body", encoded.Body)
	message = append(message, '}', '}')
	binary.LittleEndian.PutUint32(message, uint32(len(message)-4))
	return message
}

// appendTexts appends a member that is an object of strings, unless it is empty.
func appendTexts(dst []byte, key string, texts map[string]string) []byte {
	if len(texts) == 0 {
		return dst
	}
	dst = append(jsonscan.AppendField(dst, key), '{')
	for i, name := range slices.Sorted(maps.Keys(texts)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(jsonscan.AppendString(dst, name), ':')
		dst = jsonscan.AppendString(dst, texts[name])
	}
	return append(dst, '}')
}
