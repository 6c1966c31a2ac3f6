package host

import "github.com/plinthhost/plinth/abi/v1"

// KVGet answers a value of the plugin's store; the kind of the error is not_found when
// there is none.
func KVGet(request abi.KVGet) (abi.KVValue, error) {
	return ask[abi.KVGet, abi.KVValue](abi.OpKVGet, request)
}

// KVSet stores a value.
func KVSet(request abi.KVSet) error {
	_, err := ask[abi.KVSet, abi.None](abi.OpKVSet, request)
	return err
}

// KVDelete takes a value out of the store. One that is not there is no error.
func KVDelete(request abi.KVDelete) error {
	_, err := ask[abi.KVDelete, abi.None](abi.OpKVDelete, request)
	return err
}

// KVList answers a page of the store's keys.
func KVList(request abi.KVList) (abi.KVListed, error) {
	return ask[abi.KVList, abi.KVListed](abi.OpKVList, request)
}
