// Command informer does what programs on client-go do with an API server: it lists, watches and goes on
// after every break, and it changes labels of one object from many sides at once.
//
//	informer watch URL          prints what its informer hears: "add NAME VERSION", "update …", "delete …"
//	informer conflict URL NAME N   adds N labels to a job from N goroutines, each again when it was too late
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/retry"
)

var jobs = schema.GroupVersionResource{Group: "jobscheduler.intel.com", Version: "v1", Resource: "jobs"}

func main() {
	client, err := dynamic.NewForConfig(&rest.Config{Host: os.Args[2], QPS: 1000, Burst: 1000})
	check(err)
	switch os.Args[1] {
	case "watch":
		watch(client)
	case "conflict":
		count, err := strconv.Atoi(os.Args[4])
		check(err)
		conflict(client, os.Args[3], count)
	}
}

func watch(client dynamic.Interface) {
	informer := dynamicinformer.NewDynamicSharedInformerFactory(client, 0).ForResource(jobs).Informer()
	tell := func(what string) func(any) {
		return func(object any) {
			if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = gone.Obj
			}
			job := object.(*unstructured.Unstructured)
			fmt.Println(what, job.GetLabels()["nexus/display_name"], job.GetResourceVersion())
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    tell("add"),
		UpdateFunc: func(before, now any) { tell("update")(now) },
		DeleteFunc: tell("delete"),
	})
	check(err)
	go informer.Run(context.Background().Done())
	cache.WaitForCacheSync(context.Background().Done(), informer.HasSynced)
	fmt.Println("synced")
	select {}
}

func conflict(client dynamic.Interface, name string, count int) {
	var all sync.WaitGroup
	var lock sync.Mutex
	conflicts := 0
	for n := range count {
		all.Add(1)
		go func() {
			defer all.Done()
			backoff := retry.DefaultBackoff
			backoff.Steps = 50
			first := true
			check(retry.RetryOnConflict(backoff, func() error {
				if !first {
					lock.Lock()
					conflicts++
					lock.Unlock()
				}
				first = false
				job, err := client.Resource(jobs).Get(context.Background(), name, metav1.GetOptions{})
				if err != nil {
					return err
				}
				labels := job.GetLabels()
				labels[fmt.Sprintf("side-%d", n)] = "done"
				job.SetLabels(labels)
				_, err = client.Resource(jobs).Update(context.Background(), job, metav1.UpdateOptions{})
				return err
			}))
		}()
	}
	all.Wait()
	fmt.Println("conflicts", conflicts)
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
