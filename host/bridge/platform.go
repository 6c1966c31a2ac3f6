package bridge

import "runtime"

// platform is what guests are told they work on.
const platform = runtime.GOOS
