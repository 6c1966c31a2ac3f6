package plinthtest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/plinthhost/plinth/abi/v1"
	"github.com/plinthhost/plinth/sdk-plugins/go/internal/guest"
)

// attach keeps a file's bytes. Their type is told from the bytes alone.
func (h *Host) attach(tree fs.FS, name string) (abi.FSAttached, error) {
	info, err := describe(tree, name)
	if err != nil {
		return abi.FSAttached{}, err
	}
	data, err := fs.ReadFile(tree, name)
	if err != nil {
		return abi.FSAttached{}, err
	}
	sum := sha256.Sum256(data)
	blob := abi.Blob{Digest: hex.EncodeToString(sum[:])}
	if h.Blobs == nil {
		h.Blobs = map[string][]byte{}
	}
	h.Blobs[blob.Digest] = data
	mime, _, _ := strings.Cut(http.DetectContentType(data), ";")
	return abi.FSAttached{Info: info, Blob: blob, Mime: mime}, nil
}

// maxKeys is the host's limit of a page of kv.list.
const maxKeys = 1000

// value answers the operations of the plugin's store.
func (h *Host) value(operation string, body []byte) (any, error) {
	var request struct {
		abi.KVSet
		Prefix, After string
		Limit         int
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, &abi.Error{Kind: abi.KindInvalidInput, Message: err.Error()}
	}
	if request.Scope == "" {
		request.Scope = abi.KVGlobal
	}
	key := request.Scope + ":" + request.Key
	switch operation {
	case abi.OpKVGet:
		value, ok := h.Values[key]
		if !ok {
			return nil, &abi.Error{Kind: abi.KindNotFound, Message: "there is no value for " + request.Key}
		}
		return value, nil
	case abi.OpKVSet:
		if h.Values == nil {
			h.Values = map[string]abi.KVValue{}
		}
		h.Values[key] = abi.KVValue{Value: request.Value, Version: request.Version}
		return abi.None{}, nil
	case abi.OpKVDelete:
		delete(h.Values, key)
		return abi.None{}, nil
	case abi.OpKVList:
		return h.keys(request.Scope, request.Prefix, request.After, request.Limit), nil
	}
	return nil, missing(operation)
}

func (h *Host) keys(scope, prefix, after string, limit int) abi.KVListed {
	if limit <= 0 || limit > maxKeys {
		limit = maxKeys
	}
	listed := abi.KVListed{Keys: []string{}}
	for _, name := range slices.Sorted(maps.Keys(h.Values)) {
		key, ok := strings.CutPrefix(name, scope+":")
		if !ok || !strings.HasPrefix(key, prefix) || key <= after && after != "" {
			continue
		}
		if listed.More = len(listed.Keys) == limit; listed.More {
			break
		}
		listed.Keys = append(listed.Keys, key)
	}
	return listed
}

// batch carries the operations out one after the other.
func (h *Host) batch(body, raw []byte) (ok any, answered []byte, err error) {
	var request abi.Batch
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, nil, &abi.Error{Kind: abi.KindInvalidInput, Message: err.Error()}
	}
	var all abi.BatchOK
	for _, one := range request.Operations {
		var answer abi.BatchAnswer
		ok, data, err := h.answer(one.Operation, one.Request, raw)
		if err == nil {
			answer.OK, err = json.Marshal(ok)
		}
		if err != nil {
			answer.Error = guest.AsError(err)
		}
		if len(data) > 0 {
			answer.Bytes = &abi.Bytes{Offset: len(answered), Length: len(data)}
			answered = append(answered, data...)
		}
		all.Answers = append(all.Answers, answer)
	}
	return all, answered, nil
}
