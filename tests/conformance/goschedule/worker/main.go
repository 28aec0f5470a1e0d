// A worker as go-schedule's is seen from outside: it dials a server, says a name it has just made up,
// and runs whatever it is told to. Flags make it misbehave where tests want that.
package main

import (
	"crypto/rand"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

type settings struct {
	server    string
	silence   time.Duration
	reconnect time.Duration
	misdeeds  misdeeds
}

// misdeeds are things that the server must bear.
type misdeeds struct {
	// lateAck acknowledges a command after its end was told.
	lateAck bool
	// duplicateReports tells each end three times.
	duplicateReports bool
	// dropReport keeps every so many ends to itself. 0: none.
	dropReport int64
	// noPong leaves pings unanswered.
	noPong bool
	// stranger has ids of commands that this worker was not given, whose ends it tells, with this output.
	stranger []string
	forged   string
}

func main() {
	given := settings{}
	flag.StringVar(&given.server, "server", "127.0.0.1:1234", "`address` of the server")
	silence := flag.Float64("silence", 10, "`seconds` without a word after which the connection is dropped")
	reconnect := flag.Float64("reconnect", 3, "`seconds` until the next one")
	flag.BoolVar(&given.misdeeds.lateAck, "late-ack", false, "acknowledge after the report")
	flag.BoolVar(&given.misdeeds.duplicateReports, "duplicate-reports", false, "report three times")
	flag.Int64Var(&given.misdeeds.dropReport, "drop-report", 0, "do not report every `N`th end")
	flag.BoolVar(&given.misdeeds.noPong, "no-pong", false, "do not answer pings")
	stranger := flag.String("stranger", "", "report these `ids`, separated by commas, once connected")
	flag.StringVar(&given.misdeeds.forged, "forged", "forged", "as the `output` of these")
	flag.Parse()
	given.silence = seconds(*silence)
	given.reconnect = seconds(*reconnect)
	if *stranger != "" {
		given.misdeeds.stranger = strings.Split(*stranger, ",")
	}
	for {
		log("warning", "%v", serve(given))
		log("info", "Reconnecting ...")
		time.Sleep(given.reconnect)
	}
}

func seconds(count float64) time.Duration { return time.Duration(count * float64(time.Second)) }

func log(level string, format string, values ...any) {
	line, _ := json.Marshal(map[string]string{
		"level": level,
		"msg":   fmt.Sprintf(format, values...),
		"time":  time.Now().Format(time.RFC3339),
	})
	fmt.Fprintln(os.Stderr, string(line))
}

func uuid() string {
	bytes := make([]byte, 16)
	if _, err := rand.Read(bytes); err != nil {
		panic(err)
	}
	bytes[6] = bytes[6]&0x0f | 0x40
	bytes[8] = bytes[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", bytes[:4], bytes[4:6], bytes[6:8], bytes[8:10], bytes[10:])
}
