package main

// Jobspec is all that rainbow's clients in Go keep of a document: they read it into structs like these and
// write it anew. What no field is for is lost on the way: depends_on, steps, local.
type Jobspec struct {
	Version    int                 `json:"version"`
	Name       string              `json:"name,omitempty"`
	Resources  map[string]Resource `json:"resources,omitempty"`
	Tasks      []Task              `json:"tasks,omitempty"`
	Groups     []Group             `json:"groups,omitempty"`
	Requires   []map[string]string `json:"requires,omitempty"`
	Attributes any                 `json:"attributes,omitempty"`
}

// Task of a jobspec.
type Task struct {
	Group     string              `json:"group,omitempty"`
	Name      string              `json:"name,omitempty"`
	Replicas  int                 `json:"replicas,omitempty"`
	Resources string              `json:"resources,omitempty"`
	Command   []string            `json:"command,omitempty"`
	Requires  []map[string]string `json:"requires,omitempty"`
}

// Group of tasks.
type Group struct {
	Name      string  `json:"name,omitempty"`
	Resources string  `json:"resources,omitempty"`
	Tasks     []Task  `json:"tasks,omitempty"`
	Groups    []Group `json:"groups,omitempty"`
}

// Resource that is asked for, with those inside of it.
type Resource struct {
	Type      string              `json:"type,omitempty"`
	Unit      string              `json:"unit,omitempty"`
	Replicas  int32               `json:"replicas,omitempty"`
	Count     int32               `json:"count,omitempty"`
	With      []Resource          `json:"with,omitempty"`
	Label     string              `json:"label,omitempty"`
	Exclusive bool                `json:"exclusive,omitempty"`
	Requires  []map[string]string `json:"requires,omitempty"`
	// A struct is never empty: every resource has an "attributes: {}".
	Attributes Attributes `json:"attributes,omitempty"`
	Schedule   bool       `json:"schedule,omitempty"`
}

// Attributes of a resource.
type Attributes struct {
	Duration    string            `json:"duration,omitempty"`
	Cwd         string            `json:"cwd,omitempty"`
	Environment map[string]string `json:"environment,omitempty"`
}
