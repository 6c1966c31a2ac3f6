package main

import (
	"fmt"
)

func figure(name string, value float64, unit string) {
	fmt.Printf("figure %s %.4g %s\n", name, value, unit)
}
