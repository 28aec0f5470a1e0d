module go-schedule

go 1.20

// What go-schedule's own programs are built with.
require (
	github.com/golang/protobuf v1.2.0
	google.golang.org/grpc v1.18.0
	gopkg.in/yaml.v2 v2.2.2
)

require (
	golang.org/x/net v0.0.0-20180826012351-8a410e7b638d // indirect
	golang.org/x/sys v0.0.0-20180830151530-49385e6e1522 // indirect
	golang.org/x/text v0.3.0 // indirect
	google.golang.org/genproto v0.0.0-20180817151627-c66870c02cf8 // indirect
)
