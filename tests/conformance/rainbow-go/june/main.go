// A client as rainbow's since June 2024: it asks which clusters match, and submits a jobspec to those.
package main

import (
	_ "rainbow-go/june/pb"
	"rainbow-go/wire"
)

func main() {
	wire.Run(map[string]wire.Command{"call": wire.Call, "submit": submit, "receive": receive})
}
