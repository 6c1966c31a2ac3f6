// Package bridge translates between the kernel's ports and guests, in both
// directions: a file per kind of plugin turns port calls into messages of
// abi/v1, and the operations that guests may ask of the host are carried out
// here, under the call's grants and permissions. It is the one place that knows
// both the kernel and the wire.
package bridge
