// Runs all cases of h2spec, also the strict ones, against a port without TLS, and prints the result of each as a line of JSON.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/summerwind/h2spec/config"
	"github.com/summerwind/h2spec/generic"
	"github.com/summerwind/h2spec/hpack"
	"github.com/summerwind/h2spec/http2"
	"github.com/summerwind/h2spec/spec"
)

type line struct {
	Name    string `json:"name"`
	Result  string `json:"result"`
	Problem string `json:"problem,omitempty"`
}

func main() {
	port, err := strconv.Atoi(os.Args[2])
	if err != nil {
		panic(err)
	}
	c := &config.Config{
		Host:         os.Args[1],
		Port:         port,
		Path:         "/",
		Timeout:      3 * time.Second,
		MaxHeaderLen: 4000,
		Strict:       true,
	}
	// h2spec itself prints to the standard output, for people.
	out := os.Stdout
	os.Stdout = os.Stderr
	for _, group := range []*spec.TestGroup{generic.Spec(), http2.Spec(), hpack.Spec()} {
		group.Test(c)
		show(out, group)
	}
}

func show(out *os.File, group *spec.TestGroup) {
	for at, test := range append(group.Tests, group.StrictTests...) {
		each := line{Name: fmt.Sprintf("%s/%d: %s", group.ID(), at+1, test.Desc), Result: "passed"}
		switch {
		case test.Result == nil:
			each.Result = "not run"
		case test.Result.Skipped:
			each.Result = "skipped"
		case test.Result.Failed:
			each.Result = "failed"
			each.Problem = test.Result.Error.Error()
		}
		text, err := json.Marshal(each)
		if err != nil {
			panic(err)
		}
		fmt.Fprintln(out, string(text))
	}
	for _, inner := range group.Groups {
		show(out, inner)
	}
}
