// A client as rainbow's of February 2024: it registers by name alone, and submits a command to one cluster.
package main

import (
	// Texts are what its messages bring.
	_ "google.golang.org/protobuf/types/known/wrapperspb"

	_ "rainbow-go/february/pb"
	"rainbow-go/wire"
)

func main() {
	wire.Run(map[string]wire.Command{"call": wire.Call, "stream": wire.Stream})
}
