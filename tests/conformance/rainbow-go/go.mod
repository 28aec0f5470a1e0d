module rainbow-go

go 1.20

// What rainbow's own clients are built with.
require (
	google.golang.org/grpc v1.62.0
	google.golang.org/protobuf v1.32.0
	sigs.k8s.io/yaml v1.4.0
)

require (
	github.com/golang/protobuf v1.5.3 // indirect
	golang.org/x/net v0.20.0 // indirect
	golang.org/x/sys v0.16.0 // indirect
	golang.org/x/text v0.14.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20240123012728-ef4313101c80 // indirect
)
