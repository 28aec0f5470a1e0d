package main

import (
	"fmt"
	"os"

	"go-schedule/wire"
	"gopkg.in/yaml.v2"
)

// readTasks takes numbers and truth values among the parameters as text.
func readTasks(path string) (*wire.TaskList, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("There is a problem with reading tasks file: %v", err)
	}
	var file struct {
		Tasks []struct {
			Cmd    string   `yaml:"cmd"`
			Params []string `yaml:"params"`
		} `yaml:"tasks"`
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("There is a problem with yaml structure: : %v", err)
	}
	list := new(wire.TaskList)
	for _, task := range file.Tasks {
		list.Tasks = append(list.Tasks, &wire.Task{Id: "dummy", Cmd: task.Cmd, Parameters: task.Params})
	}
	return list, nil
}
