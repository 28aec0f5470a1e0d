import { describe, expect, test } from "vitest";
import { checkJobspec } from "./parse.ts";
import { describeProblem } from "./problems.ts";

/** The first four lines of many documents. */
const HEAD = `version: 1
resources:
  spack: {type: node, count: 2, with: [{type: core, count: 4}]}
  small: {type: core, count: 1}
`;

/** What is wrong with a document, word for word. */
const cases: readonly (readonly [string, string, ...string[]])[] = [
  ["a document that is a list", "- 1", "line 1, column 1: must be a map of keys and values"],
  ["no version", "tasks: [{command: [x], local: true}]", 'line 1, column 1: needs "version: 1"'],
  [
    "a version that is a text",
    `version: "1"
tasks: [{command: [x], local: true}]`,
    'line 1, column 10: version: must be 1, not "1"',
  ],
  ["nothing to run", HEAD, "line 1, column 1: needs tasks or groups"],
  [
    "empty lists",
    `${HEAD}tasks: []
groups: []`,
    "line 1, column 1: has nothing to run",
  ],
  [
    "broken YAML",
    "version: [1",
    "line 1, column 12: Flow sequence in block collection must be sufficiently indented and end with a ]",
  ],
  [
    "a misspelt key at the top",
    `${HEAD}task: {command: [x], resources: spack}
tasks: []`,
    'line 6, column 1: unknown key "tasks"; either "task" or "tasks"',
  ],
  [
    "a misspelt key of the document",
    `${HEAD}tassks:
- {command: [x], resources: spack}`,
    "line 1, column 1: needs tasks or groups",
    'line 5, column 1: unknown key "tassks"; did you mean "tasks"?',
  ],
  [
    "a misspelt key of a task",
    `${HEAD}tasks:
- {command: [x], resorces: spack, resources: spack}`,
    'line 6, column 18: tasks[0]: unknown key "resorces"; did you mean "resources"?',
  ],
  [
    "an attribute in the wrong place",
    `${HEAD}tasks:
- {command: [x], resources: spack, duration: 5m}`,
    'line 6, column 36: tasks[0]: unknown key "duration"; write it under attributes',
  ],
  [
    "a key of another dialect",
    `${HEAD}tasks:
- {command: [x], resources: spack, slot: a}`,
    'line 6, column 36: tasks[0]: unknown key "slot"; a task is given its resources by "resources"',
  ],
  [
    "a misspelt key of a group",
    `${HEAD}groups:
- {name: g, resource: spack, resources: spack, tasks: [{command: [x]}]}`,
    'line 6, column 13: groups[0]: unknown key "resource"; did you mean "resources"?',
  ],
  [
    "a misspelt key of a resource",
    `version: 1
resources:
  a: {typ: node, type: node, count: 1}
tasks: [{command: [x], resources: a}]`,
    'line 3, column 7: resources.a: unknown key "typ"; did you mean "type"?',
  ],
  [
    "a misspelt resource",
    `${HEAD}tasks:
- command: [x]
  resources: spak`,
    'line 7, column 14: tasks[0].resources: there is no resource named "spak"; did you mean "spack"?',
  ],
  [
    "one of several resources is unknown",
    `${HEAD}tasks:
- command: [x]
  resources: spack|gpu,small`,
    'line 7, column 14: tasks[0].resources: there is no resource named "gpu"; there are spack, small',
  ],
  [
    "an expression without names",
    `${HEAD}tasks:
- command: [x]
  resources: spack|`,
    'line 7, column 14: tasks[0].resources: "spack|" is not a choice of names; write it like a, a|b or a&b',
  ],
  [
    "resources as a number of maps",
    `${HEAD}tasks:
- command: [x]
  resources: [spack]`,
    "line 7, column 14: tasks[0].resources: must be a text",
  ],
  [
    "no resources at all",
    `${HEAD}tasks:
- command: [x]`,
    'line 6, column 3: tasks[0]: needs "resources": no group is around it',
  ],
  [
    "a group without resources",
    `${HEAD}groups:
- name: g
  tasks:
  - {command: [x]}`,
    'line 6, column 3: groups[0]: needs "resources": no group is around it',
    'line 8, column 5: groups[0].tasks[0]: needs "resources": group "g" has none either',
  ],
  [
    "a group without resources around tasks that have some",
    `${HEAD}groups:
- name: g
  tasks:
  - {command: [x], resources: small}`,
    'line 6, column 3: groups[0]: needs "resources": no group is around it',
  ],
  [
    "a resource without type",
    `version: 1
resources: {a: {count: 1}}
tasks: [{command: [x], resources: a}]`,
    'line 2, column 16: resources.a: needs "type", like node, core or gpu',
  ],
  [
    "a resource without count",
    `version: 1
resources: {a: {type: node}}
tasks: [{command: [x], resources: a}]`,
    'line 2, column 16: resources.a: needs "count" (or, as a slot, "replicas")',
  ],
  [
    "count and replicas",
    `version: 1
resources: {a: {type: node, count: 1, replicas: 1}}
tasks: [{command: [x], resources: a}]`,
    "line 2, column 49: resources.a.replicas: either count or replicas: replicas makes it a slot, which may be anywhere",
  ],
  [
    "a count of nothing",
    `version: 1
resources: {a-b_C.d: {type: node, count: 0}}
tasks: [{command: [x], resources: a-b_C.d}]`,
    "line 2, column 42: resources.a-b_C.d.count: must be a whole number from 1, not 0",
  ],
  [
    "half a node",
    `version: 1
resources: {a: {type: node, count: 1.5}}
tasks: [{command: [x], resources: a}]`,
    "line 2, column 36: resources.a.count: must be a whole number from 1, not 1.5",
  ],
  [
    "a count in words",
    `version: 1
resources: {a: {type: node, count: one}}
tasks: [{command: [x], resources: a}]`,
    'line 2, column 36: resources.a.count: must be a whole number from 1, not "one"',
  ],
  [
    "a count beyond all",
    `version: 1
resources: {a: {type: node, count: 10000000000}}
tasks: [{command: [x], resources: a}]`,
    "line 2, column 36: resources.a.count: must be at most 1000000000",
  ],
  [
    "an empty with",
    `version: 1
resources: {a: {type: node, count: 1, with: []}}
tasks: [{command: [x], resources: a}]`,
    "line 2, column 45: resources.a.with: is empty",
  ],
  [
    "a slot in a slot",
    `version: 1
resources: {a: {type: node, replicas: 1, with: [{type: slot, count: 1}]}}
tasks: [{command: [x], resources: a}]`,
    "line 2, column 49: resources.a.with[0]: a slot cannot be inside a slot",
  ],
  [
    "attributes inside of a resource",
    `version: 1
resources: {a: {type: node, count: 1, with: [{type: core, count: 1, attributes: {cwd: /}, schedule: true}]}}
tasks: [{command: [x], resources: a}]`,
    "line 2, column 81: resources.a.with[0].attributes: it belongs to the whole resource; write it at its top",
    'line 2, column 91: resources.a.with[0]: unknown key "schedule"; it belongs to the whole resource; write it at its top',
  ],
  [
    "flags that are none",
    `version: 1
resources: {a: {type: node, count: 1, exclusive: 1, schedule: yes}}
tasks: [{command: [x], resources: a, local: 'true'}]`,
    "line 2, column 50: resources.a.exclusive: must be true or false, not 1",
    'line 2, column 63: resources.a.schedule: must be true or false, not "yes"',
    'line 3, column 45: tasks[0].local: must be true or false, not "true"',
  ],
  [
    "a name that cannot be referred to",
    `version: 1
resources: {a|b: {type: node, count: 1}}
tasks: [{command: [x], resources: a|b}]`,
    'line 2, column 18: resources.a|b: "a|b" is not a name; it has 1 to 128 characters, no "|", ",", "&" or "/", and no blank at its ends',
    'line 3, column 35: tasks[0].resources: there is no resource named "a"; there are none',
    'line 3, column 35: tasks[0].resources: there is no resource named "b"; there are none',
  ],
  [
    "a name with a path in it",
    `${HEAD}tasks:
- {name: a/b, command: [x], resources: spack}
- {name: ' c', command: [x], resources: spack}`,
    'line 6, column 10: tasks[0].name: "a/b" is not a name; it has 1 to 128 characters, no "|", ",", "&" or "/", and no blank at its ends',
    'line 7, column 10: tasks[1].name: " c" is not a name; it has 1 to 128 characters, no "|", ",", "&" or "/", and no blank at its ends',
  ],
  [
    "two tasks of one name",
    `${HEAD}tasks:
- {name: a, command: [x], resources: spack}
- {name: a, command: [y], resources: spack}`,
    'line 7, column 10: tasks[1].name: "a" is already the name of the task in line 6',
  ],
  [
    "a task and a group of one name",
    `${HEAD}tasks:
- {name: a, command: [x], resources: spack}
groups:
- {name: a, resources: spack, tasks: [{command: [y]}]}`,
    'line 8, column 3: groups[0]: "a" is already the name of the task in line 6',
  ],
  [
    "two groups of one name",
    `${HEAD}groups:
- {name: a, resources: spack, tasks: [{command: [y]}]}
- name: b
  resources: spack
  groups:
  - {name: a, tasks: [{command: [y]}]}`,
    'line 10, column 12: groups[1].groups[0].name: "a" is already the name of the group in line 6',
  ],
  [
    "an unknown dependency",
    `${HEAD}tasks:
- {name: build, command: [x], resources: spack}
- {command: [y], resources: spack, depends_on: [biuld]}`,
    'line 7, column 49: tasks[1].depends_on[0]: there is no task or group named "biuld"; did you mean "build"?',
  ],
  [
    "a dependency on itself",
    `${HEAD}tasks:
- {name: a, command: [x], resources: spack, depends_on: [a]}`,
    'line 6, column 58: tasks[0].depends_on[0]: "a" cannot depend on itself',
  ],
  [
    "a dependency twice",
    `${HEAD}tasks:
- {name: a, command: [x], resources: spack}
- {command: [x], resources: spack, depends_on: [a, a]}`,
    'line 7, column 52: tasks[1].depends_on[1]: "a" is there twice',
  ],
  [
    "a dependency that is no list",
    `${HEAD}tasks:
- {name: a, command: [x], resources: spack}
- {command: [x], resources: spack, depends_on: a}`,
    "line 7, column 48: tasks[1].depends_on: must be a list",
  ],
  [
    "a circle",
    `${HEAD}tasks:
- {name: a, command: [x], resources: spack, depends_on: [c]}
- {name: b, command: [x], resources: spack, depends_on: [a]}
- {name: c, command: [x], resources: spack, depends_on: [b]}`,
    'line 6, column 3: tasks[0]: waits for itself: "a" waits for "c", "c" waits for "b", "b" waits for "a"',
  ],
  [
    "a circle through a group",
    `${HEAD}tasks:
- {name: a, command: [x], resources: spack, depends_on: [g]}
groups:
- name: g
  resources: spack
  tasks:
  - {name: t, command: [x], depends_on: [a]}`,
    'line 6, column 3: tasks[0]: waits for itself: "a" waits for "g", something in "g" waits for "a"',
  ],
  [
    "a circle inside of a group",
    `${HEAD}groups:
- name: g
  resources: spack
  tasks:
  - {name: s, command: [x], depends_on: [t]}
  - {name: t, command: [x], depends_on: [s]}`,
    'line 9, column 5: groups[0].tasks[0]: waits for itself: "s" waits for "t", "t" waits for "s"',
  ],
  [
    "a dependency on the group around",
    `${HEAD}groups:
- name: g
  resources: spack
  tasks:
  - {name: t, command: [x], depends_on: [g]}`,
    'line 9, column 42: groups[0].tasks[0].depends_on[0]: "g" is the group it is in; it would wait for itself',
  ],
  [
    "a dependency on what is inside of a group",
    `${HEAD}tasks:
- {command: [x], resources: spack, depends_on: [t]}
groups:
- name: g
  resources: spack
  tasks:
  - {name: t, command: [x]}`,
    'line 6, column 49: tasks[0].depends_on[0]: "t" is inside of group "g" and cannot be seen here; depend on the group',
  ],
  [
    "an unknown group",
    `${HEAD}tasks:
- {group: trian}
groups:
- {name: train, resources: spack, tasks: [{command: [x]}]}`,
    'line 6, column 11: tasks[0].group: there is no group named "trian"; did you mean "train"?',
  ],
  [
    "a group placed twice",
    `${HEAD}tasks:
- {group: g}
- {group: g}
groups:
- {name: g, resources: spack, tasks: [{command: [x]}]}`,
    'line 7, column 11: tasks[1].group: group "g" is already placed in line 6',
  ],
  [
    "groups that place each other",
    `${HEAD}groups:
- {name: g, resources: spack, tasks: [{group: h}]}
- {name: h, resources: spack, tasks: [{group: g}]}`,
    "line 6, column 3: groups[0]: groups place each other: g -> h -> g",
  ],
  [
    "a group that places itself",
    `${HEAD}groups:
- {name: g, resources: spack, tasks: [{group: g}]}`,
    "line 6, column 3: groups[0]: groups place each other: g -> g",
  ],
  [
    "an inner group placed from outside",
    `${HEAD}tasks: [{group: h}]
groups:
- {name: g, resources: spack, groups: [{name: h, tasks: [{command: [x]}]}]}`,
    'line 5, column 17: tasks[0].group: group "h" is written inside of group "g": only its tasks can place it',
  ],
  [
    "a placed group with more than dependencies",
    `${HEAD}tasks:
- {group: g, name: other, resources: small}
groups:
- {name: g, resources: spack, tasks: [{command: [x]}]}`,
    'line 6, column 20: tasks[0].name: a group has its own name: leave this out, or write "g"',
    "line 6, column 38: tasks[0].resources: a task that places a group has only depends_on; write resources in the group",
  ],
  [
    "a group with nothing in it",
    `${HEAD}groups:
- {name: g, resources: spack}
- {name: h, resources: spack, tasks: []}`,
    "line 6, column 3: groups[0]: needs tasks or groups",
    "line 7, column 3: groups[1]: has nothing to run",
  ],
  [
    "nothing to run in a task",
    `${HEAD}tasks:
- {name: a, resources: spack}`,
    "line 6, column 3: tasks[0]: needs something to run: command, script or steps",
  ],
  [
    "a command and a script",
    `${HEAD}tasks:
- {command: [x], script: y, resources: spack}`,
    "line 6, column 26: tasks[0].script: either command or script",
  ],
  [
    "an empty command",
    `${HEAD}tasks:
- {command: [], resources: spack}
- {command: ' ', resources: spack}
- {command: [''], resources: spack}
- {script: ' ', resources: spack}`,
    "line 6, column 13: tasks[0].command: is empty",
    "line 7, column 13: tasks[1].command: must name a program to run",
    "line 8, column 13: tasks[2].command: must name a program to run",
    "line 9, column 12: tasks[3].script: is empty",
  ],
  [
    "a quote left open",
    `${HEAD}tasks:
- {command: "say 'hi", resources: spack}`,
    "line 6, column 13: tasks[0].command: has a quote or a backslash that is left open",
  ],
  [
    "a word that is a list",
    `${HEAD}tasks:
- {command: [x, [y]], resources: spack}`,
    "line 6, column 17: tasks[0].command[1]: must be a text",
  ],
  [
    "replicas",
    `${HEAD}tasks:
- {command: [x], resources: spack, replicas: 2.5}
- {command: [x], resources: spack, replicas: 2, count: {per_slot: 1}}
- {command: [x], resources: spack, count: {}}`,
    "line 6, column 46: tasks[0].replicas: must be a whole number from 1, not 2.5",
    "line 7, column 56: tasks[1].count: either count or replicas",
    'line 8, column 43: tasks[2].count: needs "per_slot" or "total"',
  ],
  [
    "unknown steps",
    `${HEAD}tasks:
- resources: spack
  steps: [{name: stge, path: /x}, {name: stage}, {path: /x}, {name: stage, path: /x, watch: true}]`,
    'line 7, column 18: tasks[0].steps[0].name: there is no step "stge"; did you mean "stage"?',
    'line 7, column 35: tasks[0].steps[1]: needs "path": what is staged',
    'line 7, column 50: tasks[0].steps[2]: needs "name": stage, write, submit, batch, set, unset',
    'line 7, column 93: tasks[0].steps[3].watch: a stage step has no "watch"',
  ],
  [
    "steps with scripts that are not there",
    `${HEAD}tasks:
- resources: spack
  scripts: [{name: a.sh, content: x}, {name: a.sh, content: y}, {name: ../b, content: z}, {content: z}]
  steps: [{name: write, filename: a.hs}, {name: batch}]`,
    'line 7, column 46: tasks[0].scripts[1].name: "a.sh" is there twice',
    'line 7, column 72: tasks[0].scripts[2].name: "../b" is not the name of a file without a path',
    'line 7, column 91: tasks[0].scripts[3]: needs "name"',
    'line 8, column 35: tasks[0].steps[0].filename: there is no script "a.hs"; did you mean "a.sh"?',
    'line 8, column 42: tasks[0].steps[1]: needs "filename": one of scripts',
  ],
  [
    "settings",
    `${HEAD}tasks:
- resources: spack
  steps: [{name: set, key: sharefs, value: true}, {name: set, key: stage}, {name: set, key: sharedfs, value: 1}, {name: unset}]`,
    'line 7, column 28: tasks[0].steps[0].key: there is no setting "sharefs"; did you mean "sharedfs"?',
    'line 7, column 51: tasks[0].steps[1]: needs "value"',
    "line 7, column 110: tasks[0].steps[2].value: must be true or false, not 1",
    'line 7, column 114: tasks[0].steps[3]: needs "key": sharedfs or stage',
  ],
  [
    "several scripts and nothing that runs one",
    `${HEAD}tasks:
- resources: spack
  scripts: [{name: a.sh, content: x}, {name: b.sh, content: y}]`,
    "line 6, column 3: tasks[0]: has several scripts: say by steps or command which is run",
  ],
  [
    "an unknown set of requirements",
    `${HEAD}requires: {python: [{name: spack, field: type}]}
tasks:
- {command: [x], resources: spack, requires: pyhton}`,
    'line 7, column 46: tasks[0].requires: there is no set of requirements named "pyhton"; did you mean "python"?',
  ],
  [
    "requirements without name or field",
    `${HEAD}requires:
  a:
  - {field: x}
  - {name: x}
  - {name: x, field: y, mach: z}
  - {name: x, field: y, match: a, min: 1}
  - {name: x, field: y, match: a, value: b}
  - {name: x, field: y, attribute: b}
  - text
  - {name: x, field: y, match: []}
tasks:
- {command: [x], resources: spack, requires: a}`,
    'line 7, column 5: requires.a[0]: needs "name": the subsystem',
    'line 8, column 5: requires.a[1]: needs "field": what of the subsystem is looked at',
    'line 9, column 25: requires.a[2]: unknown key "mach"; did you mean "match"?',
    "line 10, column 32: requires.a[3].match: either this, or min and max",
    'line 11, column 42: requires.a[4].value: says the same as match; without "attribute" only one of them is wanted',
    'line 12, column 5: requires.a[5]: needs "value": what attribute must be',
    "line 13, column 5: requires.a[6]: must be a map of keys and values",
    "line 14, column 32: requires.a[7].match: is empty",
  ],
  [
    "requirements by subsystem",
    `${HEAD}tasks:
- {command: [x], resources: spack, requires: {os: linux, hw: {}, io: {a: []}, '': {a: b}, net: {a: [{priority: x}]}}}`,
    'line 6, column 51: tasks[0].requires.os: must be a map of fields and values, like { cpu.target: "amd64" }',
    "line 6, column 62: tasks[0].requires.hw: is empty",
    "line 6, column 74: tasks[0].requires.io.a: is empty",
    "line 6, column 83: tasks[0].requires.: needs the name of a subsystem",
    'line 6, column 101: tasks[0].requires.net.a[0]: needs "a"',
    'line 6, column 112: tasks[0].requires.net.a[0].priority: must be a number, not "x"',
  ],
  [
    "durations",
    `${HEAD}tasks:
- {command: [x], resources: spack, attributes: {duration: '5 minutes'}}
- {command: [x], resources: spack, attributes: {duration: -1}}
- {command: [x], resources: spack, attributes: {duration: 400d}}
- {command: [x], resources: spack, attributes: {duration: '300'}}
- {command: [x], resources: spack, attributes: {duration: [1]}}`,
    'line 6, column 59: tasks[0].attributes.duration: "5 minutes" is not a duration; write it like 90s, 5m, 1h30m or 250ms',
    "line 7, column 59: tasks[1].attributes.duration: must not be negative, as -1 is",
    "line 8, column 59: tasks[2].attributes.duration: is longer than 366 days",
    'line 9, column 59: tasks[3].attributes.duration: "300" has no unit; write it like 90s, 5m, 1h30m or 250ms',
    "line 10, column 59: tasks[4].attributes.duration: must be a number, not a list",
  ],
  [
    "a task longer than the jobspec",
    `${HEAD}attributes: {duration: 1h}
tasks:
- {command: [x], resources: spack, attributes: {duration: 2h}}`,
    "line 7, column 59: tasks[0].attributes.duration: 2h is longer than the jobspec may run: 1h",
  ],
  [
    "a task without limit in a group with one",
    `${HEAD}groups:
- name: g
  resources: spack
  attributes: {duration: 90}
  tasks:
  - {command: [x], attributes: {duration: 0}}`,
    'line 10, column 43: groups[0].tasks[0].attributes.duration: without limit is longer than group "g" may run: 1m30s',
  ],
  [
    "a group longer than the group around",
    `${HEAD}groups:
- name: g
  resources: spack
  attributes: {duration: 90}
  groups:
  - {name: h, attributes: {duration: 91}, tasks: [{command: [x]}]}`,
    'line 10, column 38: groups[0].groups[0].attributes.duration: 1m31s is longer than group "g" may run: 1m30s',
  ],
  [
    "resources longer than the jobspec",
    `version: 1
attributes: {duration: 60}
resources: {a: {type: node, count: 1, attributes: {duration: 61}}}
tasks: [{command: [x], resources: a}]`,
    "line 4, column 35: tasks[0].resources: its resources may run for 1m1s, longer than the jobspec: 1m",
  ],
  [
    "a task longer than its resources",
    `version: 1
resources: {a: {type: node, count: 1, attributes: {duration: 61}}}
tasks: [{command: [x], resources: a, attributes: {duration: 62}}]`,
    "line 3, column 61: tasks[0].attributes.duration: 1m2s is longer than its resources may run: 1m1s",
  ],
  [
    "resources that do not agree",
    `version: 1
resources:
  a: {type: node, count: 1, attributes: {cwd: /a, environment: {X: 1}}}
  b: {type: node, count: 1, attributes: {cwd: /b}}
tasks: [{command: [x], resources: a|b}, {command: [x], resources: a&b}, {command: [x], resources: a&b, attributes: {cwd: /c}}]`,
    'line 5, column 35: tasks[0].resources: "a" and "b" do not agree on cwd; say it in attributes here',
    'line 5, column 35: tasks[0].resources: "a" and "b" do not agree on environment.X; say it in attributes here',
    'line 5, column 67: tasks[1].resources: "a" and "b" do not agree on cwd; say it in attributes here',
  ],
  [
    "attributes that are none",
    `${HEAD}attributes: {env: {A: b}, system: {dependencies: [], constraints: {}, cwd: /x}, cwd: /y}
tasks:
- {command: [x], resources: spack, attributes: {environment: {A=B: c, D: [e], F: }, watch: 1, cwd: ''}}`,
    'line 5, column 14: attributes: unknown key "env"; did you mean "environment"?',
    'line 5, column 36: attributes.system: unknown key "dependencies"; ids of Flux jobs mean nothing elsewhere; write depends_on',
    'line 5, column 54: attributes.system: unknown key "constraints"; write requires',
    "line 5, column 76: attributes.system.cwd: cwd is given here and outside of system",
    `line 7, column 68: tasks[0].attributes.environment.A=B: "A=B" is not a variable's name`,
    "line 7, column 74: tasks[0].attributes.environment.D: must be a text",
    "line 7, column 82: tasks[0].attributes.environment.F: must be a text",
    "line 7, column 92: tasks[0].attributes.watch: must be true or false, not 1",
    "line 7, column 100: tasks[0].attributes.cwd: is empty",
  ],
  [
    "more nodes than the group has",
    `version: 1
resources:
  two: {type: node, count: 2, with: [{type: core, count: 4}]}
  three: {type: node, count: 3}
groups:
- {name: g, resources: two, tasks: [{command: [x], resources: three}]}`,
    'line 6, column 63: groups[0].tasks[0].resources: asks for more than group "g" has: 3 node: the group has 2',
  ],
  [
    "more in one node than the group has",
    `version: 1
resources:
  two: {type: node, count: 2, with: [{type: core, count: 4}]}
  fat: {type: node, count: 1, with: [{type: core, count: 8}]}
groups:
- {name: g, resources: two, tasks: [{command: [x], resources: fat}]}`,
    'line 6, column 63: groups[0].tasks[0].resources: asks for more than group "g" has: 8 core in one node: the group has 4 there',
  ],
  [
    "more in one node than the group has, in parts",
    `version: 1
resources:
  two: {type: node, count: 2, with: [{type: core, count: 3}]}
  fat: {type: node, count: 1, with: [{type: core, count: 2}, {type: core, count: 2}]}
groups:
- {name: g, resources: two, tasks: [{command: [x], resources: fat}]}`,
    'line 6, column 63: groups[0].tasks[0].resources: asks for more than group "g" has: 4 core in one node: the group has 3 there',
  ],
  [
    "what the group does not have",
    `version: 1
resources:
  two: {type: node, count: 2, with: [{type: core, count: 4}]}
  gpu: {type: node, count: 1, with: [{type: gpu, count: 1}]}
  alone: {type: gpu, count: 1}
groups:
- {name: g, resources: two, tasks: [{command: [x], resources: gpu}, {command: [x], resources: alone}]}`,
    'line 7, column 63: groups[0].tasks[0].resources: asks for more than group "g" has: gpu: the group has none',
    'line 7, column 95: groups[0].tasks[1].resources: asks for more than group "g" has: gpu: the group has none',
  ],
  [
    "more memory than the group has",
    `version: 1
resources:
  two: {type: node, count: 1, with: [{type: memory, count: 4, unit: GB}]}
  big: {type: memory, count: 4000001, unit: kB}
groups:
- {name: g, resources: two, tasks: [{command: [x], resources: big}]}`,
    'line 6, column 63: groups[0].tasks[0].resources: asks for more than group "g" has: 4000001000 memory: the group has 4000000000',
  ],
  [
    "an alternative of the group has no room",
    `version: 1
resources:
  big: {type: node, count: 2}
  tiny: {type: node, count: 1}
groups:
- {name: g, resources: big|tiny, tasks: [{command: [x], resources: big}]}`,
    'line 6, column 68: groups[0].tasks[0].resources: asks for more than group "g" has: 2 node: the group has 1',
  ],
  [
    "an inner group that asks for more",
    `version: 1
resources:
  big: {type: node, count: 2}
  tiny: {type: node, count: 1}
groups:
- {name: g, resources: tiny, groups: [{name: h, resources: big, tasks: [{command: [x]}]}]}`,
    'line 6, column 60: groups[0].groups[0].resources: asks for more than group "g" has: 2 node: the group has 1',
  ],
  [
    "flux: two tasks",
    `version: 1
resources: [{type: slot, label: s, count: 1, with: [{type: core, count: 1}]}]
tasks:
- {command: [x], slot: s, count: {per_slot: 1}}
- {command: [x], slot: s, count: {per_slot: 1}}`,
    "line 5, column 3: tasks[1]: Flux V1 has one task",
  ],
  [
    "flux: a misspelt slot",
    `version: 1
resources: [{type: slot, label: default, count: 1, with: [{type: core, count: 1}]}]
tasks:
- {command: [x], slot: defualt, count: {per_slot: 1}}`,
    'line 4, column 24: tasks[0].slot: there is no slot with the label "defualt"; did you mean "default"?',
  ],
  [
    "flux: what is missing",
    `version: 1
resources: [{type: slot, label: s, count: 1, with: [{type: core, count: 1}]}]
tasks: [{}]`,
    'line 3, column 9: tasks[0]: needs "slot"',
    'line 3, column 9: tasks[0]: needs "count"',
    "line 3, column 9: tasks[0]: needs something to run: command, script or steps",
  ],
  [
    "flux: two resources",
    `version: 1
resources: [{type: core, count: 1}, {type: core, count: 1}]
tasks: [{command: [x], slot: s, count: {per_slot: 1, total: 2}}]`,
    "line 2, column 37: resources[1]: there is one resource in this dialect",
    'line 3, column 30: tasks[0].slot: there is no slot with the label "s"; there are none',
    "line 3, column 40: tasks[0].count: either per_slot or total",
  ],
  [
    "flux: groups",
    `version: 1
resources: [{type: slot, label: s, count: 1}]
tasks: [{command: [x], slot: s, count: {total: 0}}]
groups: []`,
    "line 3, column 48: tasks[0].count.total: must be a whole number from 1, not 0",
    'line 4, column 1: unknown key "groups"; there are version, resources, tasks, attributes',
  ],
  [
    "flux: no tasks",
    `version: 1
resources: []
tasks: []`,
    "line 2, column 12: resources: is empty",
    "line 3, column 8: tasks: is empty",
  ],
  [
    "experimental: no resources",
    `version: 1
task: {command: [x]}`,
    'line 1, column 1: needs "resources"',
    'line 2, column 7: task: needs "resources": no group is around it',
  ],
  [
    "experimental: several resources",
    `version: 1
resources: {a: {type: core, count: 1}, b: {type: core, count: 1}}
task: {command: [x]}`,
    'line 3, column 7: task: needs "resources": one of a, b',
  ],
  [
    "experimental: an unknown step",
    `version: 1
resources: [{type: core, count: 1}]
task: {transform: [{step: launch}]}`,
    'line 3, column 27: task.transform[0].step: there is no step "launch"; there are stage, write, submit, batch, set, unset',
  ],
];

describe("what is wrong is told with its line, column and path, and what would be right", () => {
  for (const [name, text, ...want] of cases) {
    test(name, () => {
      const checked = checkJobspec(text);
      expect(checked.kind === "invalid" && checked.problems.map(describeProblem)).toEqual(want);
    });
  }
});
