// A controller like rik's: one stream of statuses, and requests that are read from standard input, a JSON value a line.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"rik/wire"
)

var (
	address = flag.String("address", "", "of the scheduler, with a user part if there is one")
	agent   = flag.String("agent", "", "the user agent that it sends")
	deaf    = flag.Bool("deaf", false, "do not subscribe")
	quiet   = flag.Bool("quiet", false, "print no statuses")
	frozen  = flag.Bool("frozen", false, "subscribe, and read nothing")
	loads   = flag.String("load", "", "a request to begin with, as JSON")
)

const definition = `{"apiVersion":"v1","kind":"Pod","name":"web","spec":{"containers":[{"name":"main","image":"alpine:latest"}]}}`

type request struct {
	Do         string  `json:"do"`
	ID         string  `json:"id"`
	Workload   string  `json:"workload"`
	Definition *string `json:"definition"`
	Callers    int     `json:"callers"`
	Count      int     `json:"count"`
	Rate       float64 `json:"rate"`
	Action     uint64  `json:"action"`
}

var printing sync.Mutex

func say(event map[string]any) {
	printing.Lock()
	defer printing.Unlock()
	line, _ := json.Marshal(event)
	fmt.Println(string(line))
}

type controller struct {
	conn *grpc.ClientConn
	lock sync.Mutex
	// When an instance was asked for, and who waits for it to be told so.
	asked map[string]time.Time
	took  []float64
	left  atomic.Int64
	want  uint64
	done  chan struct{}
}

func (c *controller) call(workload, text, id string, action uint64) error {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	return c.conn.Invoke(ctx, "/controller.Controller/ScheduleInstance", wire.Scheduling(workload, text, id, action), &wire.Bytes{})
}

func (c *controller) listen(stream grpc.ClientStream) {
	for {
		var message wire.Bytes
		if err := stream.RecvMsg(&message); err != nil {
			say(map[string]any{"event": "ended", "code": status.Code(err).String(), "message": status.Convert(err).Message()})
			return
		}
		fields, err := wire.Read(message)
		if err != nil {
			panic(err)
		}
		if fields.Has(2) {
			inner, _ := fields.Inner(2)
			if !*quiet {
				say(map[string]any{"event": "worker", "id": fields.Text(3), "address": fields.Text(4), "status": inner.Number(1), "metrics": inner.Text(2)})
			}
			continue
		}
		inner, _ := fields.Inner(1)
		if !*quiet {
			say(map[string]any{"event": "instance", "id": inner.Text(3), "status": inner.Number(1), "metrics": inner.Text(2), "by": fields.Text(3)})
		}
		c.told(inner.Text(3), inner.Number(1))
	}
}

func (c *controller) told(id string, status uint64) {
	c.lock.Lock()
	defer c.lock.Unlock()
	begin, ok := c.asked[id]
	if !ok || status != c.want {
		return
	}
	delete(c.asked, id)
	c.took = append(c.took, float64(time.Since(begin).Microseconds())/1000)
	if c.left.Add(-1) == 0 {
		close(c.done)
	}
}

func at(sorted []float64, part float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(part*float64(len(sorted))))]
}

// Many instances, by several callers at once or at a rate, until the last was told to be so.
func (c *controller) load(r request) {
	c.lock.Lock()
	c.asked, c.took, c.done = map[string]time.Time{}, nil, make(chan struct{})
	c.want = wire.Running
	if r.Action == 1 {
		c.want = wire.Terminated
	}
	c.lock.Unlock()
	c.left.Store(int64(r.Count))
	var next, failed atomic.Int64
	var calls []float64
	var all sync.WaitGroup
	begin := time.Now()
	for caller := 0; caller < r.Callers; caller++ {
		all.Add(1)
		go func() {
			defer all.Done()
			var own []float64
			for {
				number := next.Add(1) - 1
				if number >= int64(r.Count) {
					break
				}
				if r.Rate > 0 {
					time.Sleep(time.Until(begin.Add(time.Duration(float64(number) / r.Rate * float64(time.Second)))))
				}
				id := fmt.Sprintf("%s-%d", r.ID, number)
				started := time.Now()
				c.lock.Lock()
				c.asked[id] = started
				c.lock.Unlock()
				if err := c.call("w", definition, id, r.Action); err != nil {
					failed.Add(1)
				}
				own = append(own, float64(time.Since(started).Microseconds())/1000)
			}
			c.lock.Lock()
			calls = append(calls, own...)
			c.lock.Unlock()
		}()
	}
	all.Wait()
	accepted := time.Since(begin).Seconds()
	isDone := false
	select {
	case <-c.done:
		isDone = true
	case <-time.After(120 * time.Second):
	}
	seconds := time.Since(begin).Seconds()
	c.lock.Lock()
	defer c.lock.Unlock()
	sort.Float64s(c.took)
	sort.Float64s(calls)
	say(map[string]any{
		"event": "loaded", "id": r.ID, "done": isDone, "told": len(c.took), "failed": failed.Load(),
		"seconds": seconds, "acceptedSeconds": accepted, "rate": float64(r.Count) / seconds,
		"p50": at(c.took, 0.5), "p95": at(c.took, 0.95), "p99": at(c.took, 0.99),
		"callP50": at(calls, 0.5), "callP99": at(calls, 0.99),
	})
}

func main() {
	flag.Parse()
	var options []grpc.DialOption
	if *agent != "" {
		options = append(options, grpc.WithUserAgent(*agent))
	}
	conn, err := wire.Dial(*address, options...)
	if err != nil {
		panic(err)
	}
	c := &controller{conn: conn, asked: map[string]time.Time{}, done: make(chan struct{})}
	if !*deaf {
		stream, err := conn.NewStream(context.Background(), &grpc.StreamDesc{ServerStreams: true}, "/controller.Controller/GetStatusUpdates")
		if err == nil {
			err = stream.SendMsg(&wire.Bytes{})
		}
		if err == nil {
			err = stream.CloseSend()
		}
		if err == nil {
			_, err = stream.Header()
		}
		if err != nil {
			say(map[string]any{"event": "refused", "code": status.Code(err).String(), "message": status.Convert(err).Message()})
			os.Exit(1)
		}
		if !*frozen {
			go c.listen(stream)
		}
	}
	say(map[string]any{"event": "subscribed"})
	if *loads != "" {
		var r request
		if err := json.Unmarshal([]byte(*loads), &r); err != nil {
			panic(err)
		}
		c.load(r)
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64*1024*1024)
	for lines.Scan() {
		var r request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			panic(err)
		}
		if r.Do == "load" {
			c.load(r)
			continue
		}
		text := definition
		if r.Definition != nil {
			text = *r.Definition
		}
		err := c.call(r.Workload, text, r.ID, r.Action)
		say(map[string]any{"event": "answered", "id": r.ID, "code": status.Code(err).String(), "message": status.Convert(err).Message()})
	}
}
