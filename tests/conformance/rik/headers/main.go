// Encodes headers with Go's own HPACK, one list for each line: what a client would send on one connection.
package main

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"

	"golang.org/x/net/http2/hpack"
)

type block struct {
	// TableSize is set before this block; absent: it stays.
	TableSize *uint32             `json:"tableSize"`
	Fields    []hpack.HeaderField `json:"fields"`
}

func main() {
	var out bytes.Buffer
	encoder := hpack.NewEncoder(&out)
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var one block
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if one.TableSize != nil {
			encoder.SetMaxDynamicTableSize(*one.TableSize)
		}
		out.Reset()
		for _, field := range one.Fields {
			if err := encoder.WriteField(field); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
		fmt.Println(hex.EncodeToString(out.Bytes()))
	}
}
