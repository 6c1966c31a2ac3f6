package main

import (
	"fmt"
)

func figure(name string, value float64, unit string) {
	fmt.Printf("figure session.%s %.4g %s\n", name, value, unit)
}

func contextFigure(name string, value float64, unit string) {
	fmt.Printf("figure context.%s %.4g %s\n", name, value, unit)
}
