package session

import (
	"reflect"
	"slices"
)

// BlobsOf lists the digests of the blobs that a payload names, each once, in the order
// they stand in it. Only files of prompts and of tool results count: a digest that is
// written in a text or in what a plugin made is no claim to the bytes.
func BlobsOf(payload Payload) []string {
	var found []string
	collectBlobs(reflect.ValueOf(payload), func(digest string) {
		if digest != "" && !slices.Contains(found, digest) {
			found = append(found, digest)
		}
	})
	return found
}

func collectBlobs(value reflect.Value, found func(digest string)) {
	switch value.Kind() {
	case reflect.Pointer:
		if !value.IsNil() {
			collectBlobs(value.Elem(), found)
		}
	case reflect.Slice:
		if value.Type().Elem().Kind() == reflect.Uint8 {
			return // JSON that is not ours
		}
		for i := range value.Len() {
			collectBlobs(value.Index(i), found)
		}
	case reflect.Struct:
		switch v := value.Interface().(type) {
		case PromptFile:
			found(v.Blob)
			return
		case ToolContent:
			found(v.Blob)
			return
		}
		for _, field := range value.Fields() {
			collectBlobs(field, found)
		}
	}
}
