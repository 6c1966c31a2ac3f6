package wire

import (
	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/jsonscan"
)

// AppendList writes a list of JSON.
func AppendList[T any](dst []byte, list []T, element func([]byte, T) []byte) []byte {
	dst = append(dst, '[')
	for i := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = element(dst, list[i])
	}
	return append(dst, ']')
}

// AppendOptional writes a member whose value may be nil, and then does not.
func AppendOptional[T any](dst []byte, key string, value *T, write func([]byte, T) []byte) []byte {
	if value == nil {
		return dst
	}
	return write(jsonscan.AppendField(dst, key), *value)
}

// AppendBlob writes what the host puts a file's bytes in for.
func AppendBlob(dst []byte, blob abi.BlobText) []byte {
	dst = jsonscan.AppendString(append(dst, `{"$blob":`...), blob.Digest)
	dst = jsonscan.AppendString(jsonscan.AppendField(dst, "as"), blob.As)
	dst = jsonscan.AppendStringField(dst, "mime", blob.Mime)
	return append(dst, '}')
}

// Comma appends what stands before the next element of a list that is written one by
// one, and nothing before the first.
func Comma(dst []byte) []byte {
	if dst[len(dst)-1] == '[' {
		return dst
	}
	return append(dst, ',')
}
