//go:build !linux

package fsys_test

const mountChild = "PLINTH_FSYS_MOUNTS_IN"

func mounted() int { return 0 }
